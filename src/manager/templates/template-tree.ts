import { AwError } from '../../domain/errors.ts'
import type { AnyEvent } from '../../domain/log/event.ts'
import { foldTemplates, type Template, templateEventTypes } from '../../domain/sources/templates.ts'
import type { TemplateSource } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { createFromBase } from '../sources/base-trees.ts'
import type { Core, Request } from '../core.ts'
import { renderedFilesOf } from './rendered-files.ts'
import { fillPlaceholders } from './variables.ts'
import { openTree } from '../kernel/trees.ts'

export async function templatesOf(core: Core): Promise<Map<string, Template[]>> {
  const events: AnyEvent[] = []
  for await (const event of core.store.read('home', { types: templateEventTypes })) events.push(event)
  return foldTemplates(events)
}

/** A new tree that begins as a template, with what is to be filled in. */
export async function createFromTemplate(
  core: Core,
  request: Request,
  source: TemplateSource,
  place: Place,
): Promise<void> {
  const { name, version, variables, base } = source
  const files = base ? await renderedFilesOf(core, base) : undefined
  if (files === undefined || !base || !(await createFromBase(core, request, place, base)))
    throw new AwError('source_failed', `The template ${name}@${version} is not there any more`, {
      hint: 'See what there is: aw template list',
      data: { template: `${name}@${version}` },
    })
  using tree = await openTree(core, place)
  fillPlaceholders(tree, files, variables)
}

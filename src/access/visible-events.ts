import type { Inputs, Outputs } from '../api/table.ts'

type Event = Outputs['events']

/** The events that somebody may see. Of what is left out nothing counts: the last so many are those of the others. */
export async function* visibleEvents(
  read: (input: Inputs['events']) => AsyncIterable<Event>,
  sees: (event: Event) => boolean,
  { tail, ...wanted }: Inputs['events'],
): AsyncIterable<Event> {
  const last: Event[] = []
  if (tail !== undefined) {
    for await (const event of filterEvents(read({ ...wanted, follow: false }), sees))
      if (last.push(event) > tail) last.shift()
    yield* last
    if (wanted.follow !== true) return
  }
  const after = last.at(-1)?.position ?? wanted.after
  yield* filterEvents(read({ ...wanted, ...(after !== undefined && { after }) }), sees)
}

async function* filterEvents(events: AsyncIterable<Event>, sees: (event: Event) => boolean): AsyncIterable<Event> {
  for await (const event of events) if (sees(event)) yield event
}

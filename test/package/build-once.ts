import { buildIsCurrent, build } from '../../tools/build.ts'

/** The tests of this folder run what users get: the files in dist/, built anew when a source is younger. */
export default async function setup(): Promise<void> {
  if (!(await buildIsCurrent())) await build()
}

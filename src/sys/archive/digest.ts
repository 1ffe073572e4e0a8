import { hashSteps } from '../trees/content-hash.ts'
import { politely } from '../trees/politely.ts'
import { openSource } from './source.ts'

/** The hash of an archive's bytes, whatever they mean. */
export async function fileDigest(file: string | number, signal?: AbortSignal): Promise<string> {
  using source = openSource(file)
  return (await politely(hashSteps(source.fd), signal)).hash
}

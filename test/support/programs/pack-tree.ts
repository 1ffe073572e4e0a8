/** Packs a tree, or unpacks an archive: `pack TREE FILE`, `unpack FILE DIRECTORY`. Prints how it ended. */
import { toAwError } from '../../../src/domain/errors.ts'
import { packTree } from '../../../src/drivers/archives/archive/pack.ts'
import { unpackArchive } from '../../../src/drivers/archives/archive/unpack.ts'

const [, , what, from = '', to = ''] = process.argv

try {
  if (what === 'pack') await packTree(from, to, { header: {} })
  else await unpackArchive(from, to, { trusted: true })
  console.log('done')
} catch (error) {
  console.log(toAwError(error).code)
}

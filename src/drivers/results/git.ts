import { AwError } from '../../domain/errors.ts'
import type { GitResults } from '../../ports/git-results.ts'
import { gitProgram } from '../../sys/git/program.ts'
import { openStagingRepository, resultRepository } from './git/staging-repository.ts'
import { openTarget } from './git/target.ts'

/** Results through the git of this machine. */
export function gitResults({ avoid }: { avoid: readonly string[] }): GitResults {
  const program = gitProgram(avoid)
  return {
    async open(directory, { target: path, sha256, signal }) {
      const git = await program(signal)
      const target = path === undefined ? undefined : await openTarget(git, path, avoid, signal)
      if (target !== undefined && sha256 !== undefined && sha256 !== target.sha256)
        throw new AwError('invalid_input', `${path} names its commits otherwise than the repository of the workspace`, {
          hint: 'One uses sha1 and the other sha256: they have nothing in common. Export a patch instead',
          data: { field: 'repo' },
        })
      return resultRepository(
        openStagingRepository(git, directory, { target, sha256: target?.sha256 ?? sha256 ?? false, signal }),
      )
    },
  }
}

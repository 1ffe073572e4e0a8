import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { sample, scene } from '../agents/hooks/scene.ts'

test('30 worktrees at once from one repository, then all of them removed at once', async () => {
  using own = scene()
  const hook = async (payload: string): Promise<{ out: string; err: string }> => {
    const child = own.place.start('hook', 'claude')
    child.stdin.end(payload)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { out, err }
  }
  const create = (): Promise<{ out: string; err: string }> => hook(sample('create-session', { cwd: own.repository }))
  const made = await Promise.all(Array.from({ length: 30 }, create))
  expect(made.map(({ err }) => err).join('')).toBe('')
  const paths = [...new Set(made.map(({ out }) => out.trim()))]
  expect(paths).toHaveLength(30)
  await Promise.all(paths.map((path) => hook(sample('remove', { worktree_path: path }))))
  expect(own.workspaces()).toEqual([])
  expect(own.workspaces('--trashed')).toHaveLength(30)
})

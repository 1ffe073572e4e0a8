/** What other programs rely on, checked from outside the process by a script that knows nothing of ours. */
import { describe, expect, test } from 'vitest'
import { inRoot } from '../../tools/root.ts'
import { launcher, place } from './built-command.ts'

describe.each(['same', 'ordinary'] as const)('as the %s user', (user) => {
  test('the contract holds', () => {
    using here = place(user)
    const result = here.sh(`sh '${inRoot('test/cli/s1-contract.sh')}' node '${launcher}'`)
    expect(result).toEqual({ code: 0, stdout: 'The contract holds\n', stderr: '' })
  })

  test('the tour runs to its end and leaves nothing', () => {
    using here = place(user)
    const { code, stdout, stderr } = here.aw('tour')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('$ aw create fix-login/claude\n/')
    expect(stdout).toContain('The login fails because the clock is wrong\n')
    expect(stdout).toContain('\n-The login fails because the clock is wrong\n+Never mind, I rewrote it all\n')
    expect(stdout).toContain('Intact up to checkpoint 1')
    expect(stdout).toContain('What to try next')
    expect(here.sh('ls -A "$TMPDIR"; ls -A "$AW_HOME" 2>/dev/null').stdout).toBe('')
  })
})

test('the script finds a broken contract', () => {
  using here = place()
  const result = here.sh(`sh '${inRoot('test/cli/s1-contract.sh')}' echo`)
  expect(result.code).toBe(1)
  expect(result.stdout).toContain('FAILED: create')
})

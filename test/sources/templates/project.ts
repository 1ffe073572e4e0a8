import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'

/** A project whose one dependency comes along as a tarball, so that `npm ci` needs no network. */
export function makeProject(base: string, name = 'project'): string {
  const folder = join(base, name)
  fs.mkdirSync(join(folder, 'vendor'), { recursive: true })
  packGreeting(base, folder, '1.0.0', 'hello')
  fs.writeFileSync(join(folder, 'README'), 'about {{title}}\n')
  return folder
}

/** Brings a version of the dependency into the project, and writes the lock for it. */
export function packGreeting(base: string, folder: string, version: string, says: string): void {
  const source = fs.mkdtempSync(join(base, 'greeting-'))
  const inside = join(source, 'package')
  fs.mkdirSync(inside)
  const about = { name: 'greeting', version, main: 'index.js', bin: { greet: 'greet.js' } }
  fs.writeFileSync(join(inside, 'package.json'), JSON.stringify(about))
  fs.writeFileSync(join(inside, 'index.js'), `module.exports = '${says}'\n`)
  fs.writeFileSync(join(inside, 'greet.js'), `#!/usr/bin/env node\nconsole.log(require('./index.js') + ' {{title}}')\n`)
  const file = `vendor/greeting-${version}.tgz`
  execFileSync('tar', ['-czf', join(folder, file), '-C', source, 'package'])
  fs.rmSync(source, { recursive: true })
  const integrity = `sha512-${createHash('sha512')
    .update(fs.readFileSync(join(folder, file)))
    .digest('base64')}`
  const dependencies = { greeting: `file:${file}` }
  const project = { name: 'project', version: '1.0.0', dependencies }
  fs.writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  const locked = { version, resolved: `file:${file}`, integrity, bin: { greet: 'greet.js' } }
  const lock = { ...project, lockfileVersion: 3, packages: { '': project, 'node_modules/greeting': locked } }
  fs.writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
}

/** As npm is to be called where there is no network. */
export const npmCi = 'npm ci --offline --no-audit --no-fund --loglevel=error'

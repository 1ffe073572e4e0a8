import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { useWorkspace } from '../../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('fill, by %s', (resolver) => {
  const ws = useWorkspace({ resolver })
  const files = [
    ['one.json', '1\n'],
    ['two.json', 'two\n'],
  ] as const

  test('makes the directory and its files, or gives them another content in place', () => {
    expect(ws.files.fill('.m', files, 0o444)).toEqual([])
    expect(fs.readdirSync(ws.path('.m')).sort()).toEqual(['one.json', 'two.json'])
    const before = fs.statSync(ws.path('.m/two.json'))
    expect(before.mode & 0o7777).toBe(0o444)
    expect(ws.files.fill('.m', [['one.json', 'longer than before'], files[1]], 0o444)).toEqual([])
    expect([ws.get('.m/one.json'), ws.get('.m/two.json')]).toEqual(['longer than before', 'two\n'])
    // What is right already is not touched.
    expect(fs.statSync(ws.path('.m/two.json')).mtimeMs).toBe(before.mtimeMs)
  })

  test('has the mode that was asked for, whatever it was and whatever the umask', () => {
    ws.put('.m/one.json', '1\n')
    fs.chmodSync(ws.path('.m/one.json'), 0o600)
    const umask = process.umask(0o077)
    try {
      expect(ws.files.fill('.m', files, 0o444)).toEqual([])
    } finally {
      process.umask(umask)
    }
    for (const [name] of files) expect(fs.statSync(ws.path(`.m/${name}`)).mode & 0o7777).toBe(0o444)
  })

  test('follows no link and writes to nothing that has another name: those are told', () => {
    ws.put('mine', 'my work')
    ws.put('.m/linked', '')
    fs.rmSync(ws.path('.m/linked'))
    fs.linkSync(ws.path('mine'), ws.path('.m/one.json'))
    fs.symlinkSync('../mine', ws.path('.m/two.json'))
    fs.mkdirSync(ws.path('.m/three.json'))
    execFileSync('mkfifo', [ws.path('.m/four.json')])
    const all = ['one.json', 'two.json', 'three.json', 'four.json'].map((name) => [name, 'new'] as const)
    expect(ws.files.fill('.m', [...all, ['five.json', 'new']], 0o444)).toEqual(all)
    expect(ws.get('mine')).toBe('my work')
    expect(ws.get('.m/five.json')).toBe('new')
  })

  test('a link or a file in the place of the directory is left alone', () => {
    fs.mkdirSync(ws.path('elsewhere'))
    fs.symlinkSync('elsewhere', ws.path('.m'))
    ws.put('file', 'mine')
    expect(ws.files.fill('.m', files, 0o444)).toEqual(files)
    expect(ws.files.fill('file', files, 0o444)).toEqual(files)
    expect(fs.readdirSync(ws.path('elsewhere'))).toEqual([])
    expect(ws.get('file')).toBe('mine')
  })
})

import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'

const kindsIn = (text: string): string[] =>
  importsOf({ path: 'src/a.ts', text }).map(({ kind, specifier }) => `${kind} ${specifier}`)

test('every way to import is seen, with the moment it is loaded', () => {
  expect(kindsIn(`import { a } from './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`import b, { a } from './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`import * as a from './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`import './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`export * from './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`export {\n  a,\n  b,\n} from './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`import { type A, b } from './a.ts'`)).toEqual(['static ./a.ts'])
  expect(kindsIn(`import type { A } from './a.ts'`)).toEqual(['type ./a.ts'])
  expect(kindsIn(`import { type A, type B } from './a.ts'`)).toEqual(['type ./a.ts'])
  expect(kindsIn(`const a: typeof import('koffi') = b`)).toEqual(['type koffi'])
  expect(kindsIn(`const a = await import('./a.ts')`)).toEqual(['lazy ./a.ts'])
  expect(kindsIn(`const a = require('koffi')`)).toEqual(['lazy koffi'])
})

test('an import in a comment is none', () => {
  expect(kindsIn(`/**\n * import { a } from './a.ts'\n */\n// import './b.ts'\n`)).toEqual([])
})

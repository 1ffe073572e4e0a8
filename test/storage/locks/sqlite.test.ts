import { expect, it } from 'vitest'
import { lockContract } from './contract.ts'
import { isNativeLoaded } from '../../../src/sys/syscalls/native.ts'

it('is tried here by way of SQLite', () => expect(isNativeLoaded()).toBe(false))

lockContract()

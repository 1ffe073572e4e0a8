import { expect, it } from 'vitest'
import { lockContract } from './contract.ts'
import { isNativeLoaded, native } from '../../../src/sys/syscalls/native.ts'

native()

it('is tried here by way of the kernel', () => expect(isNativeLoaded()).toBe(true))

lockContract()

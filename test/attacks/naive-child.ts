/** Runs one naive call in a process of its own, which can be killed if it does not end. */
import { type CheckName, naive, type NaiveOperation } from './naive.ts'

const [check, operation, root, path] = process.argv.slice(2)
naive(check as CheckName, operation as NaiveOperation, root ?? '', path ?? '')

/**
 * The SQLite of Node. Not imported as a module: a Node that has none could then not even load the library, whose first
 * act is to say which Node it needs.
 */
export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
export type DatabaseSync = InstanceType<typeof DatabaseSync>

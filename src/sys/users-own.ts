/** Folders and files of a user that are not in the home: to look at, or to change at the user's word. */
export { checkoutAt, type Checkout } from './git/work-tree.ts'
export { readUserFile, replaceUserFile, type UserFile } from './home/user-file.ts'

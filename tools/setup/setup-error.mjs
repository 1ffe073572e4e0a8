/** A reason to stop that the reader can act on; its message is all that is printed. */
export class SetupError extends Error {}

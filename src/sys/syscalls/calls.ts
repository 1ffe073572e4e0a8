/** A way to make system calls by their numbers. */
export interface Calls {
  /**
   * The result, or the negative number of the error. A text is given as UTF-8 with a zero behind it, bytes by their
   * address; how many there are is another argument, as in C. What is none of these, and a text with a NUL byte, is
   * refused with a TypeError.
   */
  call(number: number, ...values: Argument[]): number
  /** The same on another thread, with the bytes kept until it is done. */
  callLater(number: number, ...values: Argument[]): Promise<number>
  /**
   * Starts a program and answers its number, or the negative number of an error. `words` have a zero behind each, `room` is
   * for the address of each and one more, and the descriptors, which are changed, get the numbers from 0 on.
   */
  start(words: Uint8Array, room: BigUint64Array, descriptors: Int32Array): number
}

export type Argument = number | bigint | string | Uint8Array | null

/** The processors whose system calls we know, as Node names them. */
export type Processor = 'x64' | 'arm64'

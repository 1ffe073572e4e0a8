/** Whole trees in one file each: see `docs/spec/archive.md`. What is in such a file is trusted in nothing. */
export interface Archives {
  /** Tells which archive it is: the SHA-256 of the file. Reads all of it. */
  digest(file: string, signal?: AbortSignal): Promise<string>

  /** What was said about the tree when the archive was made; null if it is none of ours. `source_failed` if it is none. */
  about(file: string): Promise<Readonly<Record<string, unknown>> | null>

  /**
   * Unpacks into a directory that only we have written to. `source_failed` if it is damaged, refused or no archive: then
   * what is in the directory is to be thrown away.
   */
  unpack(file: string, directory: string, options: UnpackOptions): Promise<Unpacked>

  /** Writes a directory that only we can reach into a new file. `file_exists` if something is there, unless `replace`. */
  pack(directory: string, file: string, options: PackOptions): Promise<Packed>
}

type OnProgress = (done: { files: number; bytes: number }) => void

export interface UnpackOptions {
  /** The most that may come out of it. */
  readonly maxBytes: number
  /** What `digest` has told, now or in an older version: an archive that is another one by now is `source_failed`. */
  readonly digest: string
  /** It is one of our own: owners, set-user-id bits, devices and capabilities are made as it says. */
  readonly trusted?: boolean | undefined
  /** A device with number 0 is left out also then: where trees are layers it hides what is below it. */
  readonly whiteouts?: 'omit' | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface Unpacked {
  readonly files: number
  readonly bytes: number
  /** Whether it holds the hashes of what is in it, and they were right. */
  readonly verified: boolean
  /** What was left out. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
  /** What was made with less than the archive says: bits, attributes. */
  readonly reduced: readonly { readonly path: string; readonly reason: string }[]
}

export interface PackOptions {
  /** What is said about the tree in the file. */
  readonly about: Readonly<Record<string, unknown>>
  /** Names at the top of the tree that are left out. */
  readonly exclude?: readonly string[] | undefined
  readonly replace?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface Packed {
  readonly files: number
  /** Of the file, as is the digest. */
  readonly bytes: number
  readonly digest: string
  /** Of the list of all that is in it. */
  readonly content_digest: string
}

/** How trees can be kept; a home chooses one. */
export type DriverName = 'btrfs' | 'overlay' | 'dir'

/** What can be asked for: `auto` takes the best that works. */
export const storageChoices = ['auto', 'btrfs', 'overlay', 'dir'] as const satisfies readonly ('auto' | DriverName)[]

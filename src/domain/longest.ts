/** No timer counts further, 24 days: one that is to wait for longer does not wait at all. */
export const longestMs = 2 ** 31 - 1

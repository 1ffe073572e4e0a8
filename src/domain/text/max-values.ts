/** No timer counts further, 24 days: one that is to wait for longer does not wait at all. */
export const maxTimerMs = 2 ** 31 - 1

/** A million terabytes in MB, as `aw limit` takes it too: in bytes the kernel can still count it, and the sum of many. */
export const maxCount = 999_999_999_999

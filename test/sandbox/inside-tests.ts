/** How many tests these files have, which run on an image of their own: one that is left out would not be missed otherwise. */
export const insideTests = { stress: 5, kills: 14 } as const

/** Where a box with the network `allowlist` finds its proxy, at its own loopback. */
export const proxyPort = 3128

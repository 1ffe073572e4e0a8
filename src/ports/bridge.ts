/** The way from sandboxes to the daemon of the home. */
export interface BridgeLocation {
  /** Where a daemon listens for it; also when none does. */
  readonly directory: string
  /** Whether one listens there now. */
  isOpen(): Promise<boolean>
}

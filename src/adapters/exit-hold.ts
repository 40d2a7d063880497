// Holds `process.exit` back while the application shuts down. A framework that closes its HTTP server at a signal exits
// afterwards (Next.js does), and would cut the shutdown of the runtime off.
//   - Node emits a signal to all listeners at once, so a hold that begins in a listener comes before an exit after an await.

export interface ExitHold {
  /** Resolves when some code has called `process.exit`. */
  readonly requested: Promise<void>;
  /** Ends the hold. If an exit was requested, the process exits now. */
  release(): void;
}

export function holdExit(): ExitHold {
  const { exit } = process;
  const requested = Promise.withResolvers<void>();
  let code: Parameters<typeof exit> | null = null;
  let isHeld = true;
  const held = (...given: Parameters<typeof exit>): void => {
    if (!isHeld) exit.apply(process, given);
    code ??= given;
    requested.resolve();
  };
  process.exit = held as typeof exit; // returns, unlike the original: the caller's code after it runs
  return {
    requested: requested.promise,
    release() {
      isHeld = false;
      if (process.exit === held) process.exit = exit;
      if (code !== null) exit.apply(process, code);
    },
  };
}

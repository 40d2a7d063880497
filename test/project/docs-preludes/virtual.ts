// VirtualEnvironment, as declared in src/testing/virtual-environment.ts.

import type * as library from "perdure";

declare class VirtualEnvironment implements library.Environment {
  constructor(options?: { readonly seed?: number; readonly startAt?: number });
  now(): number;
  monotonic(): number;
  setTimer(delayMs: number, fn: () => void): { cancel(): void };
  immediate(fn: () => void): void;
  random(): number;
  randomHex(bytes: number): string;
  nextTimerAt(): number | null;
  settle(): Promise<void>;
  advance(ms: number): Promise<void>;
  jumpWallClock(ms: number): void;
}

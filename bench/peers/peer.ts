// What a peer is asked to do: three programs and one kind of step, the same for all of them.
//   A1. An adapter writes the programs as the peer's own documentation would, and nothing else: no batching, no
//       caching, no shortcut that a user of the peer would not have.
//   A2. `start` answers when the instance is durable; `result` as soon as the peer can tell.
//   A3. Two settings each: what its documentation or its own starter recommends, and the best that was found.

import type { Setting } from "../subject.ts";

/**
 * - `row`: n steps, one after another, each on the result of the last; the last result.
 * - `fan`: n steps in parallel on 0 … n - 1; the sum of their results.
 * - `wait`: says that it waits, then waits for a number from outside; that number.
 */
export type Program = "row" | "fan" | "wait";

export interface Input {
  /** The instance's name, unique in its store. */
  readonly id: string;
  readonly n: number;
  readonly value: number;
}

/** What the programs call; in the process of the engine. */
export interface Work {
  step(value: number, at: { readonly id: string; readonly index: number }): Promise<number>;
  /** An instance of `wait` is about to wait. */
  waits(id: string): void;
}

export interface Engine {
  /** Answers with the key by which the instance is known, in this process or a later one. */
  start(program: Program, input: Input): Promise<string>;
  result(key: string): Promise<number>;
  /** Sends the number to an instance of `wait`; false when nobody waited and it is lost. */
  signal?(key: string, input: Input): Promise<boolean>;
  close(): Promise<void>;
}

export interface Place extends Setting {
  readonly tuned: boolean;
  /** Whether many instances are in flight or one: for peers whose best setting depends on it. */
  readonly load: "many" | "one";
  /** What `serve` answered; null for a peer without a server of its own. */
  readonly server: unknown;
}

export interface Adapter {
  /** Starts the peer's own server, if it has one; it outlives the engines, as a database would. */
  serve?(place: Omit<Place, "server">): Promise<Served>;
  /** Opens an engine whose programs run here. */
  open(place: Place, work: Work): Promise<Engine>;
}

export interface Served {
  /** Plain data, for `Place.server`. */
  readonly server: unknown;
  close(): Promise<void>;
}

/** Steps of all programs but those that are killed. */
export const increment: Work["step"] = (value) => Promise.resolve(value + 1);

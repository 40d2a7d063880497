// What a peer must provide: three programs and one kind of step, the same for all peers.
//   - An adapter writes the programs as the peer's own documentation would, and nothing else: no batching, no
//       caching, no shortcut that a user of the peer would not have.
//   - `start` resolves when the instance is durable; `result` resolves as soon as the peer can return it.
//   - Each peer has two settings: the one that its documentation or starter recommends, and the best one found.

import type { Setting } from "../subject.ts";
import type { Token } from "../tokens.ts";

/**
 * - `row`: n steps, one after another, each on the result of the last; the last result.
 * - `fan`: n steps in parallel on 0 … n - 1; the sum of their results.
 * - `wait`: reports that it waits, then waits for a number from outside; that number.
 */
export type Program = "row" | "fan" | "wait";

export interface Input {
  /** The instance's name, unique in its store. */
  readonly id: string;
  readonly n: number;
  readonly value: number;
}

/** The functions that the programs call, in the process of the engine. */
export interface Work {
  step(value: number, at: { readonly id: string; readonly index: number }): Promise<number>;
  /** The large result of a step of `startBulk`. */
  payload(): string;
  /** An instance of `wait` is about to wait. */
  waits(id: string): void;
  /** The step of `startStream`: writes n tokens. */
  produce(input: Input, write: (token: Token) => Promise<void>): Promise<void>;
}

export interface Engine {
  /** Returns the key that identifies the instance, in this process or a later one. */
  start(program: Program, input: Input): Promise<string>;
  result(key: string): Promise<number>;
  /** Starts n steps in a row that return a payload each; its result is the sum of their lengths. */
  startBulk?(input: Input): Promise<string>;
  /** Sends the number to an instance of `wait`; false if no instance waited and the number is lost. */
  signal?(key: string, input: Input): Promise<boolean>;
  /** Calls the object with this key: it adds the value to its sum and returns the sum. */
  ask?(key: string, value: number): Promise<number>;
  /** Starts an instance of one step, which writes n tokens to a stream (`Work.produce`). */
  startStream?(input: Input): Promise<string>;
  /** Reads that stream from its start to its end. The instance may run in another process. */
  readStream?(key: string): AsyncIterable<Token>;
  close(): Promise<void>;
}

export interface Place extends Setting {
  readonly tuned: boolean;
  /** Whether many instances are in flight or one, for peers whose best setting depends on it. */
  readonly load: "many" | "one";
  /** The value returned by `serve`; null for a peer without its own server. */
  readonly server: unknown;
}

export interface Adapter {
  /** Starts the peer's server, if it has one; the server outlives the engines, as a database would. */
  serve?(place: Omit<Place, "server">): Promise<Served>;
  /** Opens an engine whose programs run in this process. */
  open(place: Place, work: Work): Promise<Engine>;
}

export interface Served {
  /** Plain data, for `Place.server`. */
  readonly server: unknown;
  close(): Promise<void>;
}

/** Steps of all programs except those that are killed. */
export const increment: Work["step"] = (value) => Promise.resolve(value + 1);

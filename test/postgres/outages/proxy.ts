// The network between workers and their database, in bad hands.
//   OP1. A call is lost whole, never in the middle. A cut `before` keeps it from the server, a cut `after` keeps the
//        answer from the caller: in both cases he cannot know what became of it.
//   OP2. Half open: both ends think that they are connected, and nothing passes any more.
//   OP3. It counts what it did and what the server refused, so that a run can show that its faults landed.

import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { Chance } from "../../kill/chance.ts";
import { callLength, isCommit, startLength } from "../protocol.ts";

/** One commit in so many is cut while cutting. */
const CUT_FRACTION = 0.25;

export interface ProxyCounts {
  /** Commits that never reached the server. */
  before: number;
  /** Commits that the server carried out, and whose answer nobody heard. */
  after: number;
  frozen: number;
  /** Connections that listen, ever. */
  listening: number;
  /** Answers by SQLSTATE, of those that WATCHED names. */
  readonly states: Map<string, number>;
}

/** Ended by an operator, read-only, too many connections, shut down or starting. */
const WATCHED = ["57P01", "25006", "53300", "57P02", "57P03"] as const;

export class OutageProxy {
  readonly counts: ProxyCounts = {
    before: 0,
    after: 0,
    frozen: 0,
    listening: 0,
    states: new Map(WATCHED.map((state) => [state, 0])),
  };
  readonly #target: URL;
  readonly #chance: Chance;
  readonly #server: Server;
  readonly #open = new Set<Line>();
  #cutsLeft = 0;

  static async open(target: string, chance: Chance): Promise<OutageProxy> {
    const proxy = new OutageProxy(new URL(target), chance);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor(target: URL, chance: Chance) {
    this.#target = target;
    this.#chance = chance;
    this.#server = createServer((client) => this.#connected(client));
  }

  /** The same database, through here. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  get cuts(): number {
    return this.counts.before + this.counts.after;
  }

  /** Cuts that many commits, some of those that pass. */
  cut(count: number): void {
    this.#cutsLeft += count;
  }

  /** OP2, for every connection that listens; answers with how many these are. */
  freezeListeners(): number {
    const listening = [...this.#open].filter((line) => line.listens && !line.isFrozen);
    for (const line of listening) line.isFrozen = true;
    this.counts.frozen += listening.length;
    return listening.length;
  }

  close(): void {
    this.#server.close();
    for (const { client, upstream } of this.#open) {
      client.destroy();
      upstream.destroy();
    }
  }

  #connected(client: Socket): void {
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    const line = new Line(client, upstream);
    this.#open.add(line);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    upstream.on("data", (data) => this.#answered(line, data));
    client.on("data", (data) => {
      for (const call of line.calls(data)) this.#called(line, call);
    });
    const over = (): void => {
      if (line.isFrozen && !client.destroyed) return;
      client.destroy();
      upstream.destroy();
      this.#open.delete(line);
    };
    upstream.on("close", over);
    client.on("close", over);
  }

  #called(line: Line, call: Buffer): void {
    if (line.isFrozen || line.isSilent) return;
    if (!line.listens && call.includes("LISTEN perdure_")) {
      line.listens = true;
      this.counts.listening++;
    }
    if (this.#cutsLeft === 0 || !isCommit(call) || !this.#chance.happens(CUT_FRACTION)) {
      line.upstream.write(call);
      return;
    }
    this.#cutsLeft--;
    line.isSilent = true;
    if (this.#chance.happens(0.5)) {
      this.counts.before++;
      line.client.destroy();
      return;
    }
    // The server has done it when it answers.
    line.upstream.once("data", () => {
      this.counts.after++;
      line.client.destroy();
    });
    line.upstream.write(call);
  }

  #answered(line: Line, data: Buffer): void {
    for (const state of WATCHED) {
      if (data.includes(`C${state}\0`)) {
        this.counts.states.set(state, (this.counts.states.get(state) ?? 0) + 1);
      }
    }
    if (!line.isFrozen && !line.isSilent) line.client.write(data);
  }
}

class Line {
  readonly client: Socket;
  readonly upstream: Socket;
  listens = false;
  isFrozen = false;
  /** One call of it is lost, and it with the call. */
  isSilent = false;
  #waiting: Buffer = Buffer.alloc(0);
  #hasStarted = false;

  constructor(client: Socket, upstream: Socket) {
    this.client = client;
    this.upstream = upstream;
  }

  /** Every call that is all there. */
  *calls(data: Buffer): Generator<Buffer> {
    this.#waiting = Buffer.concat([this.#waiting, data]);
    for (;;) {
      const length = this.#hasStarted ? callLength(this.#waiting) : startLength(this.#waiting);
      if (length === null) return;
      const call = Buffer.from(this.#waiting.subarray(0, length));
      this.#waiting = this.#waiting.subarray(length);
      this.#hasStarted = true;
      yield call;
    }
  }
}

// Sweep claim: which one of several runtimes runs the retention sweep.
//   SW1. The claim is one number, the time until which it holds. The runtime that wrote the number holds the claim
//        and renews it by naming it; any other must wait until that time has passed.
//   SW2. No claim reaches further than one lease from now. A number beyond that was written before the clock was
//        set back, and is taken over.

import type { StatementSync } from "node:sqlite";
import type { SweepClaim } from "../core/provider/admin.ts";
import { changed } from "./columns.ts";
import type { Connection } from "./connection.ts";

export class SweepClaims {
  readonly #connection: Connection;
  readonly #take: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#take = connection.prepare(`
      UPDATE meta SET value = ?1 + ?2 WHERE name = 'sweep_until'
        AND (value <= ?1 OR value = ?3 OR value > ?1 + ?2)`);
  }

  take({ held, leaseMs }: SweepClaim): Promise<number | null> {
    return this.#connection.write(() => {
      const now = this.#connection.now();
      return changed(this.#take.run(now, leaseMs, held ?? -1)) ? now + leaseMs : null;
    });
  }
}

// Sweep claim: which one of several runtimes runs the retention sweep.
//   SW1. The claim is one number, the time until which it holds. The runtime that wrote the number holds the claim
//        and renews it by naming it; any other must wait until that time has passed.
//   SW2. No claim reaches further than one lease from now. A number beyond that was written before the clock was
//        set back, and is taken over.

import type { SweepClaim } from "../core/provider/admin.ts";
import { integer } from "./columns.ts";
import { told, type Connection } from "./connection.ts";
import type { Statement } from "./pipeline.ts";

export class SweepClaims {
  readonly #connection: Connection;
  readonly #take: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#take = connection.prepare(`
      UPDATE @meta SET value = $1::bigint + $2::bigint WHERE name = 'sweep_until'
        AND (value <= $1::bigint OR value = $3::bigint OR value > $1::bigint + $2::bigint)
      RETURNING value`);
  }

  take({ held, leaseMs }: SweepClaim): Promise<number | null> {
    const taken = this.#connection.transact({}, async (statements) => {
      const values = [statements.now, leaseMs, held ?? -1];
      const [row] = await statements.run(this.#take, values);
      return row === undefined ? null : integer(row, "value");
    });
    return told(taken);
  }
}

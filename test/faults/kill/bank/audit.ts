// The audit of the bank's books.
//   - The total stays the same, and every balance equals the opening balance plus the bookings.
//   - Every acknowledged transfer has exactly the bookings of its result.

import { readAcks } from "../audit/ack-log.ts";
import type { Fault } from "../faults.ts";
import type { StoreUnderTest } from "../stores.ts";
import { ACCOUNTS, OPENING_BALANCE } from "./ledger.ts";
import { ENDINGS, type Ending } from "./transfers.ts";

/** The bookings of a transfer with that result, sorted by name. */
const BOOKED: Readonly<Record<Ending, string>> = {
  moved: "credit,debit",
  refunded: "debit,refund",
  insufficient: "",
};

export interface BookAudit {
  readonly faults: readonly Fault[];
  readonly endings: Readonly<Record<Ending, number>>;
  /** Bookings that appear more than once in the unkeyed books. */
  readonly carelessDuplicates: number;
}

export async function auditBooks(ledger: StoreUnderTest, acks: string): Promise<BookAudit> {
  const faults: Fault[] = [];
  const endings: Record<Ending, number> = { moved: 0, refunded: 0, insufficient: 0 };
  const [total] = await ledger.column("SELECT sum(balance) FROM @accounts");
  if (Number(total) !== ACCOUNTS * OPENING_BALANCE) {
    faults.push({ kind: "unsound", what: `the bank holds ${total} in all` });
  }
  const wrong = await ledger.column(`
    SELECT id FROM @accounts WHERE balance <> ${OPENING_BALANCE} +
      (SELECT coalesce(sum(amount), 0) FROM @bookings WHERE account = id)`);
  for (const id of wrong) {
    faults.push({ kind: "unsound", what: `account ${id} does not match its bookings` });
  }

  const booked = bookedBy(await ledger.column("SELECT transfer || ' ' || what FROM @bookings"));
  const acknowledged = readAcks(acks);
  const ended = new Map(
    acknowledged.flatMap((line) => (line.what === "result" ? [[line.id, line.outcome]] : [])),
  );
  for (const { what, id } of acknowledged) {
    if (what !== "start") continue;
    const outcome = ended.get(id);
    const ending = ENDINGS.find(
      (one) => outcome !== undefined && "value" in outcome && outcome.value === one,
    );
    if (ending === undefined) {
      faults.push({
        kind: outcome === undefined ? "stuck" : "ended",
        what: `${id} ended as ${JSON.stringify(outcome)}`,
      });
      continue;
    }
    endings[ending]++;
    const found = (booked.get(id) ?? []).toSorted().join();
    if (found === BOOKED[ending]) continue;
    const kind = found.length > BOOKED[ending].length ? "duplicated" : "lost";
    faults.push({ kind, what: `${id} was ${ending} and has the bookings ${found}` });
  }
  const twice = await ledger.column(
    "SELECT count(*) FROM @careless GROUP BY transfer, what HAVING count(*) > 1",
  );
  return { faults, endings, carelessDuplicates: twice.length };
}

function bookedBy(lines: readonly string[]): Map<string, string[]> {
  const booked = new Map<string, string[]>();
  for (const line of lines) {
    const [transfer = "", what = ""] = line.split(" ");
    const found = booked.get(transfer);
    if (found === undefined) booked.set(transfer, [what]);
    else found.push(what);
  }
  return booked;
}

// Checksums: whether what is read of a row is what was written to it.
//   CK1. Made where a row is written, of what its readers rely on, and compared where it is read (docs/decisions/0015).
//        A store keeps the number in the row. A row without one is damaged: a migration has given a checksum to every
//        row that is older than checksums (docs/decisions/0028).
//   CK2. A change of one number, or of one bit of one text, is always found: each part goes in by a step that can be
//        undone, so that two sums which differ once differ to the end. Anything else is missed once in four billion.
//   CK3. What was read as damaged and is written again, elsewhere, gets a checksum that is wrong: no copy heals it.

import { crc32 } from "node:zlib";

/** What a checksum is made of: columns of a row, in an order that never changes. */
export type Covered = string | number | null;

/** Of something that was read from a store. */
export interface MaybeDamaged {
  /** It is not what was written: its checksum is another's. Nobody may rely on it. */
  readonly damaged?: true;
}

const ODD = 0x9e3779b1;
const HALF = 2 ** 32;
const NOTHING = -1;

/** CRC-32 of the texts, in a chain with the numbers; fits a column of 32 bits. */
export function checksumOf(...parts: readonly Covered[]): number {
  let sum = 0;
  for (const part of parts) {
    if (typeof part !== "string") sum = mixed(sum, part ?? NOTHING);
    else {
      sum = mixed(sum, part.length); // so that a letter cannot pass from one text to the next
      if (part !== "") sum = crc32(part, sum >>> 0);
    }
  }
  return sum | 0;
}

/** Whether the checksum does not match the row. Null matches only parts that are all null. */
export function isDamaged(checksum: number | null, ...parts: readonly Covered[]): boolean {
  if (checksum === null) return parts.some((part) => part !== null);
  return checksum !== checksumOf(...parts);
}

/** As `checksumOf`; of what was read as damaged, a wrong one (CK3). */
export function checksumFor({ damaged }: MaybeDamaged, ...parts: readonly Covered[]): number {
  const sum = checksumOf(...parts);
  return damaged === true ? ~sum : sum;
}

/** Both halves of a number of up to 2^53. */
function mixed(sum: number, number: number): number {
  const low = Math.imul(sum ^ number, ODD);
  return Math.imul(low ^ Math.floor(number / HALF), ODD);
}

// Checksums: detect that a row read from a store differs from the row that was written.
//   - The writer of a row computes the checksum over the columns that readers rely on; each reader compares
//        it (docs/decisions/0015). The store keeps the number in the row. A row without a checksum counts as
//        damaged: a migration added checksums to all older rows (docs/decisions/0028).
//   - A change of one number, or of one bit of one text, is always detected: each part enters the sum by an
//        invertible step, so that two sums which differ once stay different. Other changes go undetected once
//        in four billion.
//   - checksum.1: If a row was read as damaged and is written elsewhere, the copy gets a wrong checksum, so
//        that copying does not hide the damage.

import { crc32 } from "node:zlib";

/** A column that a checksum covers. The order of the columns of a row never changes. */
export type ChecksumPart = string | number | null;

/** A row that was read from a store. */
export interface MaybeDamaged {
  /** The stored checksum does not match the row. Do not trust its contents. */
  readonly damaged?: true;
}

const ODD = 0x9e3779b1;
const HALF = 2 ** 32;
const NOTHING = -1;

/** CRC-32 over the texts, chained with the numbers. The result fits a column of 32 bits. */
export function checksumOf(...parts: readonly ChecksumPart[]): number {
  let sum = 0;
  for (const part of parts) {
    if (typeof part !== "string") sum = mixed(sum, part ?? NOTHING);
    else {
      sum = mixed(sum, part.length); // so that moving a letter from one text to the next changes the sum
      if (part !== "") sum = crc32(part, sum >>> 0);
    }
  }
  return sum | 0;
}

/** Whether the checksum does not match the row. A null checksum matches only if all parts are null. */
export function isDamaged(checksum: number | null, ...parts: readonly ChecksumPart[]): boolean {
  if (checksum === null) return parts.some((part) => part !== null);
  return checksum !== checksumOf(...parts);
}

/** Like `checksumOf`, but wrong on purpose for a row that was read as damaged (checksum.1). */
export function checksumOfCopy(
  { damaged }: MaybeDamaged,
  ...parts: readonly ChecksumPart[]
): number {
  const sum = checksumOf(...parts);
  return damaged === true ? ~sum : sum;
}

/** Mixes both 32-bit halves of a number of up to 2^53 into the sum. */
function mixed(sum: number, number: number): number {
  const low = Math.imul(sum ^ number, ODD);
  return Math.imul(low ^ Math.floor(number / HALF), ODD);
}

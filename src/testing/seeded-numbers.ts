// Seeded random numbers: the generator of all randomness in tests.
//   - The same seed gives the same numbers on every machine.

/** The sfc32 generator (Chris Doty-Humphrey): 32 bits per draw. Splitmix derives its state from the seed. */
export function seededNumbers(seed: number): () => number {
  let mix = seed | 0;
  const spread = (): number => {
    mix = (mix + 0x9e3779b9) | 0;
    let z = Math.imul(mix ^ (mix >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let a = spread();
  let b = spread();
  let c = spread();
  let counter = 1;
  const draw = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) draw();
  return draw;
}

/** The given number of random bytes, as hexadecimal text. */
export function hexOf(draw: () => number, bytes: number): string {
  let hex = "";
  for (let i = 0; i < bytes; i++) hex += (draw() >>> 24).toString(16).padStart(2, "0");
  return hex;
}

// Brands: what makes `instanceof` true for an error of another installed copy of the package.
//   B1. A brand is a registered symbol on the class's prototype, so both copies see the same one.
//   B2. A user's subclass of a branded class is judged by its own prototype, as usual.
//   B3. Name and brand sit on the prototype: a stack's first line is right, and no instance carries noise.

type ErrorClass = abstract new (...args: never[]) => Error;

const ordinaryHasInstance = Function.prototype[Symbol.hasInstance];

/** The brand of the class of that name; `PerdureError`'s own is the root of the family. */
export function brandOf(name: string): symbol {
  return Symbol.for(name === "PerdureError" ? "perdure.error" : `perdure.error.${name}`);
}

/** Called in a static block of each class: names it and makes `instanceof` go by brand. */
export function brandError(errorClass: ErrorClass, name: string): void {
  const brand = brandOf(name);
  const hidden = { writable: true, configurable: true, enumerable: false };
  Object.defineProperty(errorClass.prototype, "name", { ...hidden, value: name });
  Object.defineProperty(errorClass.prototype, brand, { ...hidden, value: true });
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    ...hidden,
    value(this: unknown, value: unknown): boolean {
      return this === errorClass
        ? isBranded(value, brand)
        : ordinaryHasInstance.call(this as ErrorClass, value);
    },
  });
}

export function isBranded(value: unknown, brand: symbol): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return brand in value;
  } catch {
    return false; // a proxy that lets nobody look is none of ours
  }
}

// Brands: make `instanceof` true for an error of another installed copy of the package.
//   - A brand is a registered symbol on the prototype of the class, so that both copies see the same brand.
//   - For a user's subclass of a branded class, `instanceof` follows the prototype chain as usual.
//   - Name and brand are properties of the prototype, so that the first line of a stack has the right name
//       and instances have no extra properties.

type ErrorClass = abstract new (...args: never[]) => Error;

const ordinaryHasInstance = Function.prototype[Symbol.hasInstance];

/** The brand of the class of that name. All classes inherit the brand of `PerdureError`. */
export function brandOf(name: string): symbol {
  return Symbol.for(name === "PerdureError" ? "perdure.error" : `perdure.error.${name}`);
}

/**
 * Sets the name of an error class and makes `instanceof` compare brands. Call it in a static block of the
 * class.
 */
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
    return false; // a proxy that throws when it is read
  }
}

// A calculator for + - * / and brackets. No `eval`: the model's text is not executed as code.

/** Throws an error that names the position of the mistake. */
export function calculate(expression: string): number {
  const tokens = [...expression.matchAll(/\d+(?:\.\d+)?|\S/g)].map(([token]) => token);
  let place = 0;

  function sum(): number {
    let value = product();
    while (tokens[place] === "+" || tokens[place] === "-") {
      const isPlus = tokens[place++] === "+";
      const term = product();
      value = isPlus ? value + term : value - term;
    }
    return value;
  }
  function product(): number {
    let value = factor();
    while (tokens[place] === "*" || tokens[place] === "/") {
      const isTimes = tokens[place++] === "*";
      const term = factor();
      if (!isTimes && term === 0) throw new Error("that divides by zero");
      value = isTimes ? value * term : value / term;
    }
    return value;
  }
  function factor(): number {
    const token = tokens[place++];
    if (token === "-") return -factor();
    if (token === "(") {
      const value = sum();
      if (tokens[place++] !== ")") throw new Error("a bracket is not closed");
      return value;
    }
    if (token === undefined || !/^\d/.test(token)) {
      throw new Error(`a number is missing before "${token ?? "the end"}"`);
    }
    return Number(token);
  }

  const value = sum();
  if (place < tokens.length) throw new Error(`"${tokens[place]}" is not expected here`);
  return value;
}

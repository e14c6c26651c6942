declare module '*.svg' {
  const text: string;
  export default text;
}

declare module '*/package.json' {
  export const version: string;
}

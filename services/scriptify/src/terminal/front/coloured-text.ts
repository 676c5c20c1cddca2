import { styleText } from 'node:util'
import { printableLines } from '@latchkey/text/printable.ts'

/** The colours and weights of values, which the terminal itself adds. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with ESC
const COLOUR = /(\x1b\[(?:1|4|22|24|3\d|9\d)m)/

/** Text from elsewhere as a terminal may show it, with the colours that it has. */
export const printableInColours = (text: string): string =>
  text
    .split(COLOUR)
    .map((part, index) => (index % 2 === 0 ? printableLines(part) : part))
    .join('')

/** True where a stream is written in colours, by Node's rule: FORCE_COLOR, else NO_COLOR, else a terminal but TERM=dumb. */
export const hasColors = (stream: NodeJS.WriteStream): boolean => styleText('red', ' ', { stream }) !== ' '

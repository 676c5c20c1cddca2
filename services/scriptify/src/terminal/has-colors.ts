import { styleText } from './style-text.ts'

/** Whether a stream is written in colours, by Node's rule: FORCE_COLOR, else NO_COLOR, else a terminal other than TERM=dumb. */
export const hasColors = (stream: NodeJS.WriteStream): boolean => styleText('red', ' ', { stream }) !== ' '

/** A terminal that moves no cursor, such as the shell of Emacs: nothing but text and line ends may be written. */
export const isDumb = (): boolean => process.env.TERM === 'dumb'

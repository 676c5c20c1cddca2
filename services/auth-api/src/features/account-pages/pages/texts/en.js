export default {
  // Words that occur on several pages
  account: 'Your account',
  email: 'E-mail',
  username: 'Username',
  usernameHint: 'At most 20 characters. You cannot change it later.',
  name: 'Name',
  language: 'Language',
  password: 'Password',
  currentPassword: 'Current password',
  newPassword: 'New password',
  rules: 'What a password needs',
  show: 'Show',
  code: 'Code of six digits',
  confirm: 'Enter the code',
  confirmCode: 'Confirm',
  save: 'Save',
  saved: 'Saved.',
  back: 'Back',
  tryAgain: 'Try again',
  startAgain: 'Start again',
  help: 'Do you need help?',

  // Log in and out
  logIn: 'Log in',
  logOut: 'Log out',
  loggedOut: 'You are logged out.',
  loggedOutHere:
    'You are logged out in this browser. The server could not be reached, so the session ends there by itself later.',
  sessionEnded: 'Your session has ended. Log in again.',
  forgot: 'Forgot your password?',

  // Sign up
  signUp: 'Create an account',
  hasAccount: 'I have an account',
  createAccount: 'Create the account',
  mailSent: (email) => `We have sent a mail to ${email}. Enter the code that it contains.`,
  welcome: 'Your account is ready.',

  // Reset the password
  forgotHint: 'We send you a code, with which you choose a new password.',
  sendCode: 'Send me a code',
  codeSent: (email) => `If ${email} has an account, a code is on its way.`,
  anotherCode: 'Send another code',
  setPassword: 'Set the password',
  passwordSet: 'The password is changed. Log in with the new one.',

  // Profile
  profile: 'Profile',
  about: 'About you',
  emailTitle: 'E-mail address',
  newEmail: 'New e-mail',
  changeEmail: 'Change the e-mail',
  codeSentTo: (email) => `A code is on its way to ${email}.`,
  pending: (email) => `A code is on its way to ${email}. Your e-mail changes once you enter it here.`,
  confirmEmail: 'Confirm the e-mail',
  emailChanged: 'The e-mail is changed. Other devices have to log in again.',

  // Security
  security: 'Security',
  changePassword: 'Change the password',
  endsOthers: 'Other devices then have to log in again.',
  passwordChanged: 'The password is changed. Other devices have to log in again.',

  // Devices
  devices: 'Devices',
  thisDevice: 'This device',
  unknownDevice: 'Unknown device',
  since: (time) => `Logged in: ${time}`,
  lastUsed: (time, address) => `Last used: ${time}, from ${address}`,
  logOutDevice: 'Log out',
  loggedOutDevice: (device) => `${device} is logged out.`,
  everywhere: 'Every device',
  everywhereHint: 'Log out wherever your account is open, here too.',
  logOutEverywhere: 'Log out everywhere',

  // Delete the account
  deleteTitle: 'Delete your account',
  deleteHint: 'Nobody can log in to it afterwards.',
  deleteLink: 'Delete the account…',
  deleteWarning: (account) =>
    `The account ${account} is deleted at once, and every device is logged out. Only our support can restore it.`,
  deleteButton: 'Delete the account',
  deleted: 'Your account is deleted.',

  // What can go wrong
  notLoaded: 'This page cannot be loaded',
  unreachable: 'The server cannot be reached. Nothing that you typed is lost: try again.',
  unavailable: 'The server has a problem. Nothing that you typed is lost: try again in a moment.',
  tooMany: (time) => `Too many attempts. Try again in ${time}.`,
  faults: {
    required: 'Fill this in.',
    code: 'The code has six digits.',
    of: (message) => `This ${message}.`,
  },
  problems: {
    'invalid-credentials': 'The password is wrong, or there is no such account.',
    'wrong-password': 'The current password is wrong.',
    'password-refused': 'This password does not follow the rules.',
    'email-taken': 'This e-mail is in use already.',
    'username-taken': 'This username is taken. Choose another one.',
    'reset-refused': 'This code is wrong or has expired. Try again, or send another code.',
    'signup-refused': 'This code is wrong or has expired. Try again, or start again.',
    'email-change-refused': 'This code is wrong or has expired. Try again, or change the e-mail again.',
  },
}

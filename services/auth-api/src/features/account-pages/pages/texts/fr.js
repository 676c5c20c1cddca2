export default {
  // Words that occur on several pages
  account: 'Votre compte',
  email: 'E-mail',
  username: 'Nom d’utilisateur',
  usernameHint: 'Au plus 20 caractères. Vous ne pourrez pas le modifier.',
  name: 'Nom',
  language: 'Langue',
  password: 'Mot de passe',
  currentPassword: 'Mot de passe actuel',
  newPassword: 'Nouveau mot de passe',
  rules: 'Ce qu’il faut à un mot de passe',
  show: 'Afficher',
  code: 'Code à six chiffres',
  confirm: 'Saisissez le code',
  confirmCode: 'Confirmer',
  save: 'Enregistrer',
  saved: 'Enregistré.',
  back: 'Retour',
  tryAgain: 'Réessayer',
  startAgain: 'Recommencer',
  help: 'Besoin d’aide ?',

  // Log in and out
  logIn: 'Se connecter',
  logOut: 'Se déconnecter',
  loggedOut: 'Vous êtes déconnecté.',
  loggedOutHere:
    'Vous êtes déconnecté de ce navigateur. Le serveur est injoignable : la session y prendra fin d’elle-même plus tard.',
  sessionEnded: 'Votre session a pris fin. Reconnectez-vous.',
  forgot: 'Mot de passe oublié ?',

  // Sign up
  signUp: 'Créer un compte',
  hasAccount: 'J’ai un compte',
  createAccount: 'Créer le compte',
  mailSent: (email) => `Nous avons envoyé un e-mail à ${email}. Saisissez le code qu’il contient.`,
  welcome: 'Votre compte est prêt.',

  // Reset the password
  forgotHint: 'Nous vous envoyons un code, avec lequel vous choisirez un nouveau mot de passe.',
  sendCode: 'Envoyez-moi un code',
  codeSent: (email) => `Si ${email} a un compte, un code est en route.`,
  anotherCode: 'Envoyer un autre code',
  setPassword: 'Définir le mot de passe',
  passwordSet: 'Le mot de passe est modifié. Connectez-vous avec le nouveau.',

  // Profile
  profile: 'Profil',
  about: 'À propos de vous',
  emailTitle: 'Adresse e-mail',
  newEmail: 'Nouvel e-mail',
  changeEmail: 'Modifier l’e-mail',
  codeSentTo: (email) => `Un code est en route vers ${email}.`,
  pending: (email) =>
    `Un code est en route vers ${email}. Votre e-mail change dès que vous le saisissez ici.`,
  confirmEmail: 'Confirmer l’e-mail',
  emailChanged: 'L’e-mail est modifié. Les autres appareils doivent se reconnecter.',

  // Security
  security: 'Sécurité',
  changePassword: 'Modifier le mot de passe',
  endsOthers: 'Les autres appareils devront alors se reconnecter.',
  passwordChanged: 'Le mot de passe est modifié. Les autres appareils doivent se reconnecter.',

  // Devices
  devices: 'Appareils',
  thisDevice: 'Cet appareil',
  unknownDevice: 'Appareil inconnu',
  since: (time) => `Connecté : ${time}`,
  lastUsed: (time, address) => `Dernière utilisation : ${time}, depuis ${address}`,
  logOutDevice: 'Déconnecter',
  loggedOutDevice: (device) => `${device} est déconnecté.`,
  everywhere: 'Tous les appareils',
  everywhereHint: 'Déconnectez votre compte partout où il est ouvert, ici aussi.',
  logOutEverywhere: 'Se déconnecter partout',

  // Delete the account
  deleteTitle: 'Supprimer votre compte',
  deleteHint: 'Plus personne ne pourra s’y connecter.',
  deleteLink: 'Supprimer le compte…',
  deleteWarning: (account) =>
    `Le compte ${account} est supprimé aussitôt, et chaque appareil est déconnecté. Seule notre assistance peut le rétablir.`,
  deleteButton: 'Supprimer le compte',
  deleted: 'Votre compte est supprimé.',

  // What can go wrong
  notLoaded: 'Cette page ne peut pas être chargée',
  unreachable: 'Le serveur est injoignable. Rien de ce que vous avez saisi n’est perdu : réessayez.',
  unavailable:
    'Le serveur a un problème. Rien de ce que vous avez saisi n’est perdu : réessayez dans un instant.',
  tooMany: (time) => `Trop de tentatives. Réessayez dans ${time}.`,
  faults: {
    required: 'Remplissez ce champ.',
    code: 'Le code a six chiffres.',
    of: () => 'Cette valeur n’est pas acceptée.',
  },
  problems: {
    'invalid-credentials': 'Le mot de passe est erroné, ou ce compte n’existe pas.',
    'wrong-password': 'Le mot de passe actuel est erroné.',
    'password-refused': 'Ce mot de passe ne suit pas les règles.',
    'email-taken': 'Cet e-mail est déjà utilisé.',
    'username-taken': 'Ce nom d’utilisateur est pris. Choisissez-en un autre.',
    'reset-refused': 'Ce code est erroné ou a expiré. Réessayez, ou envoyez un autre code.',
    'signup-refused': 'Ce code est erroné ou a expiré. Réessayez, ou recommencez.',
    'email-change-refused': 'Ce code est erroné ou a expiré. Réessayez, ou modifiez l’e-mail de nouveau.',
  },
}

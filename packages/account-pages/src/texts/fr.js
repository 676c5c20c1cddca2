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

  // Second factor
  secondFactor: 'Second facteur',
  secondStep: 'Encore une étape',
  factorCode: 'Code',
  factorHint: 'De votre application d’authentification, ou un code de secours.',
  stepUp: 'Confirmez que c’est vous',
  cancel: 'Annuler',
  next: 'Suivant',
  noFactors: 'Avec un second facteur, votre mot de passe seul ne suffit à personne pour se connecter.',
  kinds: { totp: 'Application d’authentification', passkey: 'Clé d’accès' },
  addedAt: (time) => `Ajouté : ${time}`,
  lastUsedAt: (time) => `Dernière utilisation : ${time}`,
  rename: 'Renommer',
  remove: 'Retirer',
  removeNow: 'Oui, le retirer',
  removeHint: 'Vous ne pourrez plus l’utiliser pour vous connecter.',
  removeLast:
    'C’est votre dernier : votre mot de passe seul suffira alors pour ouvrir votre compte, et vos codes de secours seront supprimés.',
  removed: (name) => `${name} : retiré.`,
  addApp: 'Ajouter une application d’authentification',
  addAppHint:
    'Une application d’authentification affiche sur votre téléphone un nouveau code toutes les 30 secondes. Il en faudra un pour vous connecter.',
  firstFactorEnds:
    'Votre premier second facteur déconnecte vos autres appareils et annule une nouvelle adresse e-mail qui n’est pas encore confirmée.',
  deviceName: 'Nom de l’appareil (facultatif)',
  scan: 'Scannez cette image avec l’application.',
  qr: 'Code QR pour une application d’authentification',
  openApp: 'Ou ouvrez-la dans une application sur cet appareil.',
  orType: 'Ou saisissez cette clé dans l’application : ',
  firstCode: 'Code que l’application affiche',
  factorAdded: 'Votre compte est protégé par un second facteur.',
  factorNeeded: 'Votre rôle exige un second facteur. Ajoutez-en un pour continuer.',
  recoveryCodes: 'Codes de secours',
  codesLeft: (count) => `Codes de secours restants : ${count}.`,
  renewCodes: 'Nouveaux codes de secours',
  renewHint:
    'Les codes que vous avez restent valables jusqu’à ce que vous confirmiez avoir conservé les nouveaux.',
  renewNow: 'Afficher de nouveaux codes',
  codesRenewed: 'Les nouveaux codes de secours sont valables.',
  recoveryHint:
    'Chacun de ces codes vous connecte une fois, si vous perdez votre appareil. Gardez-les là où vous seul les trouverez : ils ne seront plus affichés.',
  print: 'Imprimer',
  copy: 'Copier',
  copied: 'Copié.',
  stored: 'Je les ai conservés',
  logInByPasskey: 'Se connecter par clé d’accès',
  usePasskey: 'Utiliser votre clé d’accès',
  addPasskey: 'Ajouter une clé d’accès',
  addPasskeyHint:
    'Une clé d’accès est sur votre appareil ou dans votre gestionnaire de mots de passe. Elle vous connecte par empreinte, visage ou code PIN, sans votre mot de passe.',

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
    'second-factor-refused':
      'Ce code est erroné ou déjà utilisé. Attendez le suivant ; l’horloge de votre appareil doit être à l’heure.',
    'password-exposed':
      'Trop de codes erronés ont suivi ce mot de passe. Choisissez-en un autre par « Mot de passe oublié ? », ou utilisez un code de secours ou une clé d’accès.',
    'challenge-refused': 'Cela a pris trop de temps, ou trop de codes étaient faux. Recommencez.',
    'too-many-factors': 'Vous en avez déjà le plus grand nombre. Retirez-en un d’abord.',
    'passkey-refused': 'Cette clé d’accès n’est pas acceptée. Essayez autrement.',
    'passkey-cancelled': 'Aucune clé d’accès n’a été utilisée. Réessayez, ou essayez autrement.',
    'passkey-exists': 'Cet appareil a déjà une clé d’accès pour ce compte.',
    'last-factor': 'Votre rôle exige un second facteur. Ajoutez-en un autre avant de retirer celui-ci.',
    cancelled: 'Sans cette étape, rien n’a été modifié.',
  },
}

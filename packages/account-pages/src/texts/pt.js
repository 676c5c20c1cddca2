export default {
  // Words that occur on several pages
  account: 'A sua conta',
  email: 'E-mail',
  username: 'Nome de utilizador',
  usernameHint: 'No máximo 20 caracteres. Não o poderá alterar.',
  name: 'Nome',
  language: 'Língua',
  password: 'Palavra-passe',
  currentPassword: 'Palavra-passe atual',
  newPassword: 'Nova palavra-passe',
  rules: 'O que uma palavra-passe tem de ter',
  show: 'Mostrar',
  code: 'Código de seis algarismos',
  confirm: 'Introduza o código',
  confirmCode: 'Confirmar',
  save: 'Guardar',
  saved: 'Guardado.',
  back: 'Voltar',
  tryAgain: 'Tentar de novo',
  startAgain: 'Recomeçar',
  help: 'Precisa de ajuda?',

  // Log in and out
  logIn: 'Iniciar sessão',
  logOut: 'Terminar sessão',
  loggedOut: 'Terminou a sessão.',
  loggedOutHere:
    'Terminou a sessão neste navegador. Não foi possível contactar o servidor: lá, a sessão acaba por si mais tarde.',
  sessionEnded: 'A sua sessão terminou. Inicie sessão de novo.',
  forgot: 'Esqueceu-se da palavra-passe?',

  // Sign up
  signUp: 'Criar uma conta',
  hasAccount: 'Já tenho uma conta',
  createAccount: 'Criar a conta',
  mailSent: (email) => `Enviámos um e-mail para ${email}. Introduza o código que ele contém.`,
  welcome: 'A sua conta está pronta.',

  // Reset the password
  forgotHint: 'Enviamos-lhe um código, com o qual escolhe uma nova palavra-passe.',
  sendCode: 'Enviar-me um código',
  codeSent: (email) => `Se ${email} tiver uma conta, um código vai a caminho.`,
  anotherCode: 'Enviar outro código',
  setPassword: 'Definir a palavra-passe',
  passwordSet: 'A palavra-passe foi alterada. Inicie sessão com a nova.',

  // Profile
  profile: 'Perfil',
  about: 'Sobre si',
  emailTitle: 'Endereço de e-mail',
  newEmail: 'Novo e-mail',
  changeEmail: 'Alterar o e-mail',
  codeSentTo: (email) => `Um código vai a caminho de ${email}.`,
  pending: (email) => `Um código vai a caminho de ${email}. O seu e-mail muda assim que o introduzir aqui.`,
  confirmEmail: 'Confirmar o e-mail',
  emailChanged: 'O e-mail foi alterado. Os outros dispositivos têm de iniciar sessão de novo.',

  // Security
  security: 'Segurança',
  changePassword: 'Alterar a palavra-passe',
  endsOthers: 'Os outros dispositivos terão de iniciar sessão de novo.',
  passwordChanged: 'A palavra-passe foi alterada. Os outros dispositivos têm de iniciar sessão de novo.',

  // Second factor
  secondFactor: 'Segundo fator',
  secondStep: 'Mais um passo',
  factorCode: 'Código',
  factorHint: 'Da sua aplicação de autenticação, ou um código de recuperação.',
  stepUp: 'Confirme que é você',
  cancel: 'Cancelar',
  next: 'Seguinte',
  noFactors: 'Com um segundo fator, ninguém inicia sessão só com a sua palavra-passe.',
  kinds: { totp: 'Aplicação de autenticação', passkey: 'Chave de acesso' },
  addedAt: (time) => `Adicionado: ${time}`,
  lastUsedAt: (time) => `Última utilização: ${time}`,
  rename: 'Mudar o nome',
  remove: 'Remover',
  removeNow: 'Sim, remover',
  removeHint: 'Deixa de poder iniciar sessão com ele.',
  removeLast:
    'É o último: a sua palavra-passe passa a bastar para abrir a sua conta, e os seus códigos de recuperação são eliminados.',
  removed: (name) => `${name}: removido.`,
  addApp: 'Adicionar uma aplicação de autenticação',
  addAppHint:
    'Uma aplicação de autenticação mostra no seu telefone um novo código a cada 30 segundos. Precisará de um para iniciar sessão.',
  firstFactorEnds:
    'O seu primeiro segundo fator termina a sessão nos seus outros dispositivos e cancela um novo endereço de e-mail ainda por confirmar.',
  deviceName: 'Nome do dispositivo (opcional)',
  scan: 'Leia esta imagem com a aplicação.',
  qr: 'Código QR para uma aplicação de autenticação',
  openApp: 'Ou abra-a numa aplicação neste dispositivo.',
  orType: 'Ou escreva esta chave na aplicação: ',
  firstCode: 'Código que a aplicação mostra',
  factorAdded: 'A sua conta está protegida por um segundo fator.',
  factorNeeded: 'A sua função exige um segundo fator. Adicione um para continuar.',
  recoveryCodes: 'Códigos de recuperação',
  codesLeft: (count) => `Códigos de recuperação que restam: ${count}.`,
  renewCodes: 'Novos códigos de recuperação',
  renewHint: 'Os códigos que tem continuam válidos até confirmar que guardou os novos.',
  renewNow: 'Mostrar novos códigos',
  codesRenewed: 'Os novos códigos de recuperação são válidos.',
  recoveryHint:
    'Cada um destes códigos inicia sessão uma vez, se perder o seu dispositivo. Guarde-os onde só você os encontre: não voltam a ser mostrados.',
  print: 'Imprimir',
  copy: 'Copiar',
  copied: 'Copiado.',
  stored: 'Já os guardei',
  logInByPasskey: 'Iniciar sessão com chave de acesso',
  usePasskey: 'Usar a sua chave de acesso',
  addPasskey: 'Adicionar uma chave de acesso',
  addPasskeyHint:
    'Uma chave de acesso está no seu dispositivo ou no seu gestor de palavras-passe. Inicia sessão por impressão digital, rosto ou PIN, sem a sua palavra-passe.',

  // Devices
  devices: 'Dispositivos',
  thisDevice: 'Este dispositivo',
  unknownDevice: 'Dispositivo desconhecido',
  since: (time) => `Sessão iniciada: ${time}`,
  lastUsed: (time, address) => `Última utilização: ${time}, a partir de ${address}`,
  logOutDevice: 'Terminar sessão',
  loggedOutDevice: (device) => `A sessão em ${device} terminou.`,
  everywhere: 'Todos os dispositivos',
  everywhereHint: 'Termine a sessão onde quer que a sua conta esteja aberta, também aqui.',
  logOutEverywhere: 'Terminar todas as sessões',

  // Delete the account
  deleteTitle: 'Eliminar a sua conta',
  deleteHint: 'Depois ninguém pode iniciar sessão nela.',
  deleteLink: 'Eliminar a conta…',
  deleteWarning: (account) =>
    `A conta ${account} é eliminada de imediato, e a sessão termina em todos os dispositivos. Só o nosso apoio a pode restaurar.`,
  deleteButton: 'Eliminar a conta',
  deleted: 'A sua conta foi eliminada.',

  // What can go wrong
  notLoaded: 'Não é possível carregar esta página',
  unreachable: 'Não é possível contactar o servidor. Nada do que escreveu se perdeu: tente de novo.',
  unavailable: 'O servidor tem um problema. Nada do que escreveu se perdeu: tente de novo daqui a pouco.',
  tooMany: (time) => `Demasiadas tentativas. Tente de novo dentro de ${time}.`,
  faults: {
    required: 'Preencha este campo.',
    code: 'O código tem seis algarismos.',
    of: () => 'Este valor não é aceite.',
  },
  problems: {
    'invalid-credentials': 'A palavra-passe está errada, ou a conta não existe.',
    'wrong-password': 'A palavra-passe atual está errada.',
    'password-refused': 'Esta palavra-passe não segue as regras.',
    'email-taken': 'Este e-mail já está em uso.',
    'username-taken': 'Este nome de utilizador já existe. Escolha outro.',
    'reset-refused': 'Este código está errado ou expirou. Tente de novo, ou envie outro código.',
    'signup-refused': 'Este código está errado ou expirou. Tente de novo, ou recomece.',
    'email-change-refused':
      'Este código está errado ou expirou. Tente de novo, ou altere o e-mail outra vez.',
    'second-factor-refused':
      'Este código está errado ou já foi usado. Espere pelo seguinte; o relógio do seu dispositivo tem de estar certo.',
    'password-exposed':
      'Demasiados códigos errados seguiram esta palavra-passe. Defina outra por «Esqueceu-se da palavra-passe?», ou use um código de recuperação ou uma chave de acesso.',
    'challenge-refused': 'Demorou demasiado, ou demasiados códigos estavam errados. Recomece.',
    'too-many-factors': 'Já tem o máximo. Remova primeiro um.',
    'passkey-refused': 'Esta chave de acesso não é aceite. Tente de outra forma.',
    'passkey-cancelled': 'Nenhuma chave de acesso foi usada. Tente de novo, ou de outra forma.',
    'passkey-exists': 'Este dispositivo já tem uma chave de acesso para esta conta.',
    'last-factor': 'A sua função exige um segundo fator. Adicione outro antes de remover este.',
    cancelled: 'Sem este passo nada foi alterado.',
  },
}

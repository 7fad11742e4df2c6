/// The services of a process, which its APIs, pages, commands and workers share.
///
/// A class, because it is passed on often.
package final class Services: Sendable {
    package let store: any Store
    package let vault: any Vault
    package let clock: any WallClock
    package let credentials: any ProviderCredentials
    package let passwords: any PasswordHashing
    package let pushObserver: any PushObserver
    package let requestLimiter: RequestLimiter
    package let shares: ConcurrencyLimiter

    package let admin: AdminService
    package let registrations: RegistrationService
    package let pushes: PushService
    package let topics: TopicService
    package let segments: SegmentService
    package let templates: TemplateService
    package let campaigns: CampaignService
    package let places: PlaceService
    package let users: UserService
    package let channels: ChannelService
    package let openEndpoints: OpenEndpointService
    package let acrobits: AcrobitsService
    package let carma: CarmaService
    package let broker: BrokerService
    package let webPushEndpoints: WebPushEndpointService
    package let webhooks: WebhookService

    /// - Parameters:
    ///   - passwords: of Carma's accounts.
    ///   - requestLimiter: nil limits only failed logins.
    package init(
        store: any Store, vault: any Vault, clock: any WallClock, credentials: any ProviderCredentials,
        passwords: any PasswordHashing = NoPasswords(), pushObserver: any PushObserver = NoPushObserver(),
        webhookPoster: any WebhookPoster = NoWebhookPoster(),
        requestLimiter: RequestLimiter? = nil, shares: ConcurrencyLimiter = ConcurrencyLimiter()
    ) {
        self.store = store
        self.vault = vault
        self.clock = clock
        self.credentials = credentials
        self.passwords = passwords
        self.pushObserver = pushObserver
        self.requestLimiter = requestLimiter ?? RequestLimiter(clock: clock)
        self.shares = shares
        admin = AdminService(store: store, vault: vault, credentials: credentials, passwords: passwords, clock: clock)
        registrations = RegistrationService(store: store)
        pushes = PushService(store: store, pushObserver: pushObserver)
        topics = TopicService(store: store)
        segments = SegmentService(store: store)
        templates = TemplateService(store: store, pushes: pushes)
        campaigns = CampaignService(store: store, pushes: pushes)
        places = PlaceService(store: store)
        users = UserService(store: store)
        channels = ChannelService(store: store, provider: credentials.channels)
        openEndpoints = OpenEndpointService(store: store)
        acrobits = AcrobitsService(store: store, pushes: pushes, clock: clock)
        carma = CarmaService(store: store, pushes: pushes, clock: clock)
        broker = BrokerService(store: store, admin: admin, vault: vault)
        webPushEndpoints = WebPushEndpointService(store: store, pushes: pushes)
        webhooks = WebhookService(store: store, vault: vault, poster: webhookPoster)
    }
}

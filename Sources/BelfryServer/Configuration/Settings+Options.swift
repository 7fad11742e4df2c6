import BelfryProviders
import BelfryService
import FoundationEssentials

// The options of each target, from settings. docs/Configuration.md lists the keys with unit, range and default.

extension DeliveryOptions {
    init(_ settings: Settings) {
        let standard = DeliveryOptions()
        self.init(
            batchesInFlightMax: settings.int(
                "delivery.batches.max", default: standard.batchesInFlightMax, in: 1...1_000),
            urgentBatchesInFlightMax: settings.int(
                "delivery.urgent.batches.max", default: standard.urgentBatchesInFlightMax, in: 1...1_000),
            batchesInFlightOfPlatformMax: settings.int(
                "delivery.platform.batches.max", default: standard.batchesInFlightOfPlatformMax, in: 1...1_000),
            lease: settings.seconds("delivery.lease.seconds", default: 120, in: 1...3_600),
            deadTokenBreaker: DeadTokenBreaker(
                shareMax: Double(settings.int("delivery.dead.tokens.percent.max", default: 20, in: 1...100)) / 100,
                answersMin: settings.int("delivery.dead.tokens.answers.min", default: 1_000, in: 1...1_000_000)))
    }
}

extension RetentionSweeper.Options {
    init(_ settings: Settings) {
        self.init(
            retention: Retention(
                counts: settings.daysKept("retention.analytics.days", default: 90),
                eventsLateMax: settings.days("analytics.late.days", default: 30, in: 1...365),
                answers: settings.daysKept("retention.answers.days", default: 30),
                pushes: settings.daysKept("retention.pushes.days", default: 90),
                audit: settings.daysKept("retention.audit.days", default: 730),
                unseen: settings.daysKept("retention.unseen.days", default: 0),
                imports: settings.daysKept("retention.imports.days", default: 30)))
    }
}

extension Settings {
    /// nil for 0, which keeps for ever.
    fileprivate func daysKept(_ key: String, default fallback: Int) -> Duration? {
        let days = int(key, default: fallback, in: 0...3_650)
        return days > 0 ? .seconds(days * 86_400) : nil
    }
}

extension RetryPolicy {
    init(_ settings: Settings) {
        self.init(
            firstDelay: settings.seconds("retry.delay.first.seconds", default: 2, in: 1...3_600),
            longestDelay: settings.seconds("retry.delay.longest.seconds", default: 900, in: 1...86_400),
            window: settings.seconds("retry.window.seconds", default: 86_400, in: 1...2_419_200))
    }
}

extension Quotas {
    /// `quota.<noun>`, 0...1,000,000,000, where 0 is no limit; `quota.user.devices` at most 100,000, since each
    /// registration counts up to it.
    init(_ settings: Settings) {
        let limits = Quota.allCases.map { quota in
            let fallback = (Quotas.standard[quota] ?? 0) / quota.unit
            let most = quota == .userDevices ? 100_000 : 1_000_000_000
            return (quota, settings.int(quota.setting, default: fallback, in: 0...most) * quota.unit)
        }
        self.init(Dictionary(uniqueKeysWithValues: limits))
    }
}

extension PCF.Options {
    init(_ settings: Settings) {
        self.init()
        verifiesCustomUserIDs = settings.bool(
            "pcf.verify.custom.user.id", default: true, oldName: "push_security_verifyCustomUserId")
        sendsImmediatelyWithin = settings.seconds(
            "pcf.send.immediately.within.seconds", default: 60, in: 0...86_400,
            oldName: "push_scheduler_sendImmediatelyWithin")
        bodyBytesMax = settings.int("http.body.bytes.max", default: bodyBytesMax, in: 1_024...(64 << 20))
    }
}

extension ProviderOptions {
    init(_ settings: Settings) {
        self.init()
        proxies = ProxyPlan(settings)
        setNameServers(settings.words("providers.dns.servers")) {
            settings.note(
                "providers.dns.servers: `\($0.quotable)` is no address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53"
            )
        }
        sendsAndroidReceiptID = settings.bool("android.send.receipt", default: true, oldName: "push_gcm_sendReceipt")
        apns = APNsOptions(settings)
        posting = PostingOptions(settings)
        fcm = FCMOptions(settings)
        gcm = MulticastOptions(settings, "gcm")
        hms = MulticastOptions(settings, "hms")
    }
}

extension FCMOptions {
    init(_ settings: Settings) {
        let standard = FCMOptions()
        self.init(
            connectionsMax: settings.int("fcm.connections.max", default: standard.connectionsMax, in: 1...100),
            deadline: settings.seconds("fcm.deadline.seconds", default: 30, in: 1...300),
            messagesPerMinute: settings.int(
                "fcm.messages.per.minute", default: standard.messagesPerMinute, in: 1...1_000_000_000))
        tokenFolders = settings.words("fcm.token.folders").filter { folder in
            let isFolder = folder.hasPrefix("/") && folder.contains { $0 != "/" }
            if !isFolder { settings.note("fcm.token.folders: `\(folder.quotable)` is no absolute path below /") }
            return isFolder
        }
        guard let server = settings.optionalString("fcm.metadata.server"), !server.isEmpty else { return }
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false,
            url.user() == nil, url.path().isEmpty, url.query() == nil
        else {
            settings.note(
                "fcm.metadata.server is `\(server.quotable)`, it has to be http://host, such as http://metadata.google.internal"
            )
            return
        }
        metadataServer = server
    }
}

extension MulticastOptions {
    /// - Parameter provider: the first word of the keys.
    init(_ settings: Settings, _ provider: String) {
        self.init()
        devicesMax = settings.int("\(provider).devices.max", default: devicesMax, in: 1_000...1_000_000)
        deadline = settings.seconds("\(provider).deadline.seconds", default: 30, in: 1...300)
    }
}

extension PostingOptions {
    init(_ settings: Settings) {
        self.init()
        deadline = settings.seconds("providers.deadline.seconds", default: 30, in: 1...300)
        connectionsPerHost = settings.int("providers.requests.max", default: connectionsPerHost, in: 1...1_000)
        connectionsMax = settings.int("providers.connections.max", default: connectionsMax, in: 16...100_000)
        allow(settings.words("providers.addresses.allow")) {
            settings.note(
                "providers.addresses.allow: `\($0.quotable)` is neither an address nor a block such as 10.0.0.0/8")
        }
    }
}

extension APNsOptions {
    init(_ settings: Settings) {
        let standard = APNsOptions()
        self.init(
            connectionsMax: settings.int("apns.connections.max", default: standard.connectionsMax, in: 1...100),
            deadline: settings.seconds("apns.deadline.seconds", default: 20, in: 1...300),
            sendsReceiptID: settings.bool("apns.send.receipt", default: true, oldName: "push_apns_sendReceipt"),
            serverErrorWait: settings.seconds("apns.server.error.wait.seconds", default: 900, in: 1...3_600))
    }
}

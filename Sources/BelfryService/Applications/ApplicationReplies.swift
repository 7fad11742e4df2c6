package import FoundationEssentials

// Replies of the admin API about applications and their contents, shared by server and clients. Times are in ISO 8601,
// UUIDs in lower case.

extension Admin {
    /// An application.
    package struct ApplicationReply: Codable, Sendable {
        package let app_uuid: String
        package let name: String
        package let description: String
        @OrNull package var tenant_uuid: String?
        package let created_at: String
        /// Whether PCF's API ignores unknown fields of requests that send.
        package let ignores_unknown_fields: Bool
        @OrNull package var quiet_hours: QuietHoursReply?
        package let caps: [CapReply]
        /// Whether a second person has to approve a campaign before it starts.
        package let campaign_approval: Bool
        /// `off`, `on`, or `vapid` where application servers have to prove who they are.
        package let web_push_endpoints: String
        /// Whether pushes that the server could read are refused.
        package let encrypted_only: Bool
        /// The text that devices show where they cannot decrypt.
        package let encrypted_alert: String
        /// Shown once, in the reply to its creation.
        package var api_key: String?
        /// Shown once, in the reply to its creation.
        package var shared_secret: String?
        /// The time until which the secret before the replaced one would have been accepted: it is refused from now on.
        package var grace_ended_early: String?

        package init(
            _ application: BelfryService.Application, tenant: UUID?, apiKey: String? = nil, sharedSecret: String? = nil,
            graceEndedEarly: Instant? = nil
        ) {
            app_uuid = application.uuid.lowercased
            name = application.name
            description = application.description
            _tenant_uuid = OrNull(wrappedValue: tenant?.lowercased)
            created_at = application.createdAt.text
            ignores_unknown_fields = application.ignoresUnknownFields
            _quiet_hours = OrNull(wrappedValue: application.deliveryRules.quietHours.map(QuietHoursReply.init))
            caps = application.deliveryRules.caps.map(CapReply.init)
            campaign_approval = application.deliveryRules.approvesCampaigns
            web_push_endpoints = application.deliveryRules.webPush.rawValue
            encrypted_only = application.deliveryRules.takesEncryptedOnly
            encrypted_alert = application.deliveryRules.encryptedAlert ?? EncryptedContent.alertByDefault
            api_key = apiKey
            shared_secret = sharedSecret
            grace_ended_early = graceEndedEarly?.text
        }
    }

    /// Quiet hours; without from and to only users have hours of their own.
    package struct QuietHoursReply: Codable, Sendable {
        @OrNull package var from: String?
        @OrNull package var to: String?
        package let then: String
        package let time_zone: String

        init(_ quiet: QuietHours) {
            _from = OrNull(wrappedValue: quiet.hours?.fromText)
            _to = OrNull(wrappedValue: quiet.hours?.toText)
            then = quiet.then.rawValue
            time_zone = quiet.zone.name
        }

        package var words: String {
            "\(from.map { "\($0)-\(to ?? "")" } ?? "users") \(then) \(time_zone)"
        }
    }

    /// A frequency cap.
    package struct CapReply: Codable, Sendable {
        package let limit: Int
        package let per: String
        @OrNull package var kind: String?

        init(_ cap: FrequencyCap) {
            (limit, per) = (cap.limit, cap.period.rawValue)
            _kind = OrNull(wrappedValue: cap.kind)
        }

        package var words: String { "\(kind.map { "\($0):" } ?? "")\(limit)/\(per)" }
    }

    /// A page of applications.
    package struct ApplicationsReply: Codable, Sendable {
        package let apps: [ApplicationReply]
        @OrNull package var next_cursor: String?
    }

    /// A platform.
    package struct PlatformReply: Codable, Sendable {
        package let platform_uuid: String
        package let app_uuid: String
        package let type: String
        package let mode: String
        package let name: String
        package let description: String
        package let devices: Int
        /// The number of inactive devices; null where there are too many to count.
        @OrNull package var inactive_devices: Int?
        /// The number of imported devices that have not registered since, counted up to `Device.unseenCountMax`.
        package let unseen_devices: Int
        /// `active` or `parked`.
        package let state: String
        /// Why it is parked.
        package let parked: [ParkingReply]
        /// The push services of a web platform that are parked alone.
        package let parked_services: [ParkedServiceReply]
        /// The public part of its credentials, such as the VAPID public key.
        package let `public`: [String: String]
        /// The access of web pages that register browsers; null while they may not.
        @OrNull package var web: WebAccessReply?
        @OrNull package var credentials_expire_at: String?
        package let created_at: String
        /// Shown once, in the reply to its creation.
        package var platform_secret: String?
        /// The fields that stayed as they were; in the reply to a replacement of the credentials.
        package var kept_credentials: [String]?

        package init(
            _ platform: BelfryService.Platform, of application: BelfryService.Application, devices: Int, inactive: Int?,
            unseen: Int = 0,
            expiry: Instant?, published: [String: String], secret: String? = nil
        ) {
            platform_uuid = platform.uuid.lowercased
            app_uuid = application.uuid.lowercased
            type = platform.kind.rawValue
            mode = platform.mode.rawValue
            name = platform.name
            description = platform.description
            self.devices = devices
            _inactive_devices = OrNull(wrappedValue: inactive)
            unseen_devices = unseen
            state = platform.parked == nil ? "active" : "parked"
            parked = platform.parked.map { [ParkingReply($0)] } ?? []
            parked_services = platform.parkedServices.map { ParkedServiceReply($0) }
            `public` = published
            _web = OrNull(wrappedValue: platform.webAccess.map { WebAccessReply($0) })
            _credentials_expire_at = OrNull(wrappedValue: expiry?.text)
            created_at = platform.createdAt.text
            platform_secret = secret
        }
    }

    /// The values that web pages need to register browsers. None of them is secret.
    package struct WebAccessReply: Codable, Sendable {
        package let registration_key: String
        package let origins: [String]
        package let proof: Bool

        package init(_ access: WebAccess) {
            registration_key = access.key.text
            origins = access.origins.map(\.text)
            proof = access.provesRegistrations
        }
    }

    /// The platforms of an application.
    package struct PlatformsReply: Codable, Sendable {
        package let platforms: [PlatformReply]
    }

    /// Why a platform is parked, and since when.
    package struct ParkingReply: Codable, Sendable {
        package let cause: String
        package let detail: String
        package let since: String
        /// When its credentials are tried again; null where an operator has to act.
        @OrNull package var next_probe_at: String?
        /// How often they were tried since.
        package let probes: Int

        package init(_ parking: Parking) {
            cause = parking.cause.rawValue
            detail = parking.detail
            since = parking.since.text
            _next_probe_at = OrNull(wrappedValue: parking.probe?.at.text)
            probes = parking.probe?.count ?? 0
        }
    }

    /// A push service that refuses the credentials of a web platform, while others go on.
    package struct ParkedServiceReply: Codable, Sendable {
        package let service: String
        package let detail: String
        package let since: String
        @OrNull package var next_probe_at: String?
        package let probes: Int

        package init(_ parked: ParkedService) {
            service = parked.origin
            detail = parked.parking.detail
            since = parked.parking.since.text
            _next_probe_at = OrNull(wrappedValue: parked.parking.probe?.at.text)
            probes = parked.parking.probe?.count ?? 0
        }
    }

    /// A provider's verdict on credentials.
    package struct CredentialsTestReply: Codable, Sendable {
        /// `works`, or why it does not.
        package let result: String
        @OrNull package var detail: String?

        package init(_ test: CredentialsTest) {
            result = test.name
            _detail = OrNull(wrappedValue: test.detail)
        }
    }

    /// The use of an application's quotas.
    package struct QuotasReply: Codable, Sendable {
        package let quotas: [Quota]

        /// A missing limit, and the use of a quota that is counted for each custom user id, are null.
        package struct Quota: Codable, Sendable {
            package let quota: String
            @OrNull package var use: Int?
            @OrNull package var limit: Int?
            package let setting: String

            package init(_ use: QuotaUse) {
                quota = use.quota.rawValue
                _use = OrNull(wrappedValue: use.use)
                _limit = OrNull(wrappedValue: use.limit)
                setting = use.quota.setting
            }
        }
    }

    /// A broadcast channel.
    package struct ChannelReply: Codable, Sendable {
        package let channel_id: String
        package let storage: String
        /// The device that stands for the channel; in the reply to its creation.
        package var device_uuid: String?

        package init(_ channel: BroadcastChannel, device: UUID? = nil) {
            channel_id = channel.id
            storage = channel.storage.rawValue
            device_uuid = device?.lowercased
        }
    }

    /// The broadcast channels of a platform.
    package struct ChannelsReply: Codable, Sendable {
        package let channels: [String]
    }
}

import CNghttp2

/// Requests to `/4/broadcasts/apps/{bundle}`. Source: Apple, "Sending broadcast push notification requests to APNs".
extension APNsConnection {
    static let broadcastPath: StaticString = "/4/broadcasts/apps/"

    func readBroadcastPath(_ value: UnsafeRawBufferPointer, for request: Request) {
        let bundle = UnsafeRawBufferPointer(rebasing: value[Self.broadcastPath.utf8CodeUnitCount...])
        request.pointee.facts.path = bundle.isEmpty ? .foreign : .broadcast
        guard !bundle.isEmpty else { return }
        let text = String(decoding: bundle, as: UTF8.self)
        request.pointee.topic = text
        request.pointee.facts.topic = service.classify(text)
    }

    /// The path has a channel's id in place of a device's token.
    func readChannel(_ value: UnsafeRawBufferPointer, for request: Request) {
        let isID = ChannelRegistry.isID(String(decoding: value, as: UTF8.self))
        request.pointee.facts.channel = isID && request.pointee.keepToken(value) ? .good : .bad
    }

    /// nil is 200.
    func verdictOnBroadcast(_ request: Request) -> APNsVerdict? {
        let facts = request.pointee.facts
        let validation = BroadcastValidation()
        if let complaint = validation.complaintAboutForm(of: facts) { return APNsVerdict(complaint) }
        if let scripted = scriptedVerdict(on: request), scripted.status != 200 { return scripted }
        if let complaint = validation.complaintAboutSender(of: facts) { return APNsVerdict(complaint) }
        let id = String(decoding: request.pointee.token, as: UTF8.self)
        let policy = service.configuration.channels.policy(of: id, in: request.pointee.topic ?? "")
        return validation.complaint(of: facts, toChannelStoring: policy).map { APNsVerdict($0) }
    }
}

/// The checks of a broadcast, where the first complaint is the answer. Apple does not publish its order.
struct BroadcastValidation {
    static let payloadBytesMax = 5_120

    func complaintAboutForm(of request: RequestFacts) -> APNsReason? {
        if request.repeatsHeader { return .badRequestParams }
        if request.id == .bad { return .badMessageID }
        if request.method != .post { return .methodNotAllowed }
        switch request.channel {
        case .absent: return .missingChannelID
        case .bad: return .badChannelID
        case .good: break
        }
        switch request.pushType {
        case .absent: return .missingPushType
        case .known(.liveactivity): break
        case .known, .unknown: return .invalidPushType
        }
        // 1 is not for broadcasts, and there is no default.
        guard request.priority == .good, request.priorityLevel != 1 else { return .badPriority }
        return request.expiration == .good ? nil : .badExpirationDate
    }

    func complaintAboutSender(of request: RequestFacts) -> APNsReason? {
        switch request.authorization {
        case .absent: return .missingProviderToken
        case .refused(let reason): return reason
        case .good: break
        }
        guard request.topic?.suffix == TopicSuffix.none else { return .topicDisallowed }
        return request.topic?.isAllowed == false ? .topicMismatch : nil
    }

    /// - Parameter policy: the channel's storage policy; nil when there is no such channel.
    func complaint(of request: RequestFacts, toChannelStoring policy: Int?) -> APNsReason? {
        guard let policy else { return .channelNotRegistered }
        if policy == 0, !request.expiresAtOnce { return .badExpirationDate }
        if request.payloadBytes == 0 { return .payloadEmpty }
        if request.payloadBytes > Self.payloadBytesMax { return .payloadTooLarge }
        return request.payloadOpening == UInt8(ascii: "{") ? nil : .badRequestPayload
    }
}

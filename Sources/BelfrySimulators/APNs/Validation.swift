/// The checks APNs makes of a request; the first failed one is the answer.
///
/// Apple does not publish its order. This one is that of pushy's `ValidatingPushNotificationHandler`; the checks it
/// lacks stand beside their nearest relative.
struct Validation {
    var payloadBytesMax = 4096
    /// Source: Apple, "Generating a remote notification": 5 KB for VoIP.
    var voipPayloadBytesMax = 5120
    static let collapseIDBytesMax = 64

    /// Steps 1 to 7: what is wrong with the headers, whatever the connection.
    func complaintAboutForm(of request: RequestFacts) -> APNsReason? {
        if request.repeatsHeader { return .duplicateHeaders }
        if request.id == .bad { return .badMessageID }
        if request.method != .post { return .methodNotAllowed }
        if request.topic == nil { return .missingTopic }
        if request.collapseIDBytes > Self.collapseIDBytesMax { return .badCollapseID }
        if let complaint = complaintAboutPriority(of: request) { return complaint }
        if let complaint = complaintAboutPushType(of: request) { return complaint }
        if request.expiration == .bad { return .badExpirationDate }
        return complaintAboutPath(of: request)
    }

    /// Step 10: who sent it, and whether they may push to this topic.
    func complaintAboutSender(of request: RequestFacts) -> APNsReason? {
        switch request.authorization {
        case .absent: .missingProviderToken
        case .refused(let reason): reason
        case .good: request.topic?.isAllowed == false ? .topicDisallowed : nil
        }
    }

    /// Steps 11 and 12: what is wrong with the payload.
    func complaintAboutPayload(of request: RequestFacts) -> APNsReason? {
        if request.payloadBytes == 0 { return .payloadEmpty }
        let limit = request.pushType == .known(.voip) ? voipPayloadBytesMax : payloadBytesMax
        if request.payloadBytes > limit { return .payloadTooLarge }
        return request.payloadOpening == UInt8(ascii: "{") ? nil : .badRequestPayload
    }

    private func complaintAboutPriority(of request: RequestFacts) -> APNsReason? {
        guard request.priority != .bad else { return .badPriority }
        let isBackground = request.pushType == .known(.background)
        // An absent priority counts as 10, which background pushes may not have.
        return isBackground && request.priorityLevel != 5 ? .badPriority : nil
    }

    private func complaintAboutPushType(of request: RequestFacts) -> APNsReason? {
        switch request.pushType {
        case .absent: nil
        case .unknown: .invalidPushType
        case .known(.mdm): request.topic?.isMDM == true ? nil : .badTopic
        case .known(let type): request.topic?.suffix == type.topicSuffix ? nil : .badTopic
        }
    }

    private func complaintAboutPath(of request: RequestFacts) -> APNsReason? {
        switch request.path {
        case .withoutToken: .missingDeviceToken
        case .missing, .foreign: .badPath
        case .badToken: .badDeviceToken
        case .device, .broadcast: nil
        }
    }
}

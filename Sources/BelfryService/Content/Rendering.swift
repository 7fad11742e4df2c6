package import FoundationEssentials

extension Push.Content {
    /// Renders the content once for each type of platform, so that content that a provider would refuse is refused at
    /// acceptance.
    ///
    /// Throws `InvalidInput` with the field that a type cannot take, with the size as it is stored, and with the rendered size
    /// where it is too large for all types that it is for. A push that some types can take goes to those: one old platform among
    /// many must not keep it from the others.
    ///
    /// Values that differ by device are judged in their longest form, where that is known.
    ///
    /// - Parameter needsValues: false for a template, whose values are not given yet.
    @discardableResult
    package func check(
        for kinds: Set<PlatformKind>, receiptID: UUID, needsValues: Bool = true
    ) throws(InvalidInput) -> Checked {
        let stored = try checkStored()
        guard isPersonal else {
            return Checked(stored: stored, tooLarge: try checkRendered(for: kinds, receiptID: receiptID))
        }
        let placeholders = try placeholders()
        try checkValues(placeholders, areNeeded: needsValues)
        guard placeholders.isEmpty && !countsBadges || !kinds.contains(where: \.isChannel) else {
            throw InvalidInput(
                field: "message", "differs by device, and a channel or topic is the same for all that listen to it")
        }
        if !kinds.contains(where: \.isApple) { try IOSPayload.checkTypes(of: self) }
        return Checked(stored: stored, tooLarge: try longest().checkRendered(for: kinds, receiptID: receiptID))
    }

    /// Throws where a placeholder has neither its value nor a default, and where a value has no placeholder.
    private func checkValues(_ placeholders: [Placeholder], areNeeded: Bool) throws(InvalidInput) {
        let count = placeholders.reduce(0) { $0 + $1.count }
        guard count <= Placeholder.countMax else { throw Placeholder.excess(count) }
        var unused = values
        for placeholder in placeholders.flatMap(\.withThoseOfTranslations) {
            guard case .value(let name, let value) = placeholder.source else { continue }
            guard value != nil || placeholder.fallback != nil || !areNeeded else {
                throw InvalidInput(
                    field: "message.values.\(name)", "is missing, and its placeholder {{values.\(name)}} has no default"
                )
            }
            unused[name] = nil
        }
        if let name = unused.keys.min() {
            throw InvalidInput(field: "message.values.\(name)", "is of no placeholder: no text has {{values.\(name)}}")
        }
    }

    package struct Checked: Sendable, Hashable {
        package let stored: String
        /// The types of platform that refuse it for its size, where others take it.
        package let tooLarge: [InvalidInput]
    }

    /// Returns the refusals of types that it is too large for.
    private func checkRendered(
        for kinds: Set<PlatformKind>, receiptID: UUID
    ) throws(InvalidInput) -> [InvalidInput] {
        if let apple, !kinds.contains(where: \.isApple) {
            let known = apple.tokenUses.map { PlatformKind.apple($0).rawValue }.sorted().joined(separator: " or ")
            throw InvalidInput(
                field: "message.apns",
                "is of type \(apple.type.rawValue), and no platform that is meant is of type \(known)")
        }
        guard web == nil || kinds.contains(where: \.isWeb) else {
            throw InvalidInput(
                field: "message.web", "is given, and no platform that is meant is of type web or web-fcm")
        }
        if !kinds.contains(where: \.isApple) { try IOSPayload.checkTypes(of: self) }
        var tooLarge: [InvalidInput] = []
        var isTaken = false
        for kind in kinds.sorted() {
            do throws(InvalidInput) {
                if try isRendered(for: kind, receiptID: receiptID) { isTaken = true }
            } catch {
                guard error.isTooLarge else { throw error }
                tooLarge.append(error)
            }
        }
        if !isTaken, let first = tooLarge.first { throw first }
        return tooLarge
    }

    /// Whether devices of a type get anything of it.
    private func isRendered(for kind: PlatformKind, receiptID: UUID) throws(InvalidInput) -> Bool {
        switch kind.traits.payload {
        case .apple(let use): _ = try IOSPayload(self, for: use, receiptID: receiptID, sentAt: .distantFuture)
        case .android: _ = try AndroidPayload(self, kind: kind, receiptID: receiptID, sentAt: .distantFuture)
        case .windows8: return try Windows8Payload(self) != nil
        case .windowsPhone: return try WindowsPhonePayload(self) != nil
        case .bb10: return try BB10Payload(self) != nil
        case .web:
            _ = try WebPayload(self, receiptID: receiptID)
            if kind == .webFCM { try checkGoogleKeys() }
        case .webhook: break
        }
        return true
    }

    /// Throws where a browser with Firebase's SDK would get data that FCM refuses.
    private func checkGoogleKeys() throws(InvalidInput) {
        let parts: [(String, JSONValue?)] = [
            ("message.data", .object(shared.data)), ("message.custom.web", custom["web"]),
            ("message.web.data", web?.notification["data"]),
        ]
        for case (let field, .object(let members)?) in parts {
            for (key, _) in members where AndroidPayload.isOfGoogle(key) {
                throw InvalidInput(field: "\(field).\(key)", "is reserved: the provider writes it")
            }
        }
    }

    /// Whether the content has anything for devices of a type. Content for Apple's devices or browsers only goes to no other type,
    /// and Apple's only to tokens of a use that APNs accepts it for; other content goes to the apps themselves.
    package func isMeant(for kind: PlatformKind) -> Bool {
        let isForOneKindAlone = (apple != nil || web != nil) && body == nil && custom.isEmpty && !shared.isMessage
        if encrypted != nil { return kind.takesEncryption }
        if let use = kind.appleUse {
            return apple.map { $0.tokenUses.contains(use) } ?? (use == .app && !isForOneKindAlone)
        }
        return !isForOneKindAlone || kind.isWeb && web != nil
    }

    /// Wakes the app without its user seeing anything: the app gets the data and nothing is shown.
    ///
    /// On iOS a background update, with the data at the root of the payload; on Android the data alone.
    package static func silent(_ data: JSONObject) -> Push.Content {
        var content = Push.Content(
            body: nil,
            custom: [
                "ios": .object(["content-available": .bool(true), "extra": .object(data)]), "android": .object(data),
            ])
        content.pacing = .exempt
        return content
    }
}

extension AdminService {
    /// Gives a person another role, which their open sessions have at once.
    ///
    /// - Parameter person: as the caller saw them; a different role by now is a `StoreError.conflict`, and so is demoting
    ///   the last operator.
    package func setRole(of person: Person, to role: SignOn.Role, by author: AuditAuthor) async throws -> Person {
        let change = AuditedChange(
            by: author, "person.set_role", person.email.text, of: Permission.Subject(role.bounds),
            ["scope": role.scope.rawValue, "scope_before": person.scope.rawValue])
        return try await store.audited(change) { try await store.setRole(of: person, to: role) }
    }

    /// Disables or enables a person.
    ///
    /// - Parameters:
    ///   - keepsOperator: see `PersonStore.setDisabled`.
    ///   - endsIssued: see there too.
    package func setDisabled(
        _ isDisabled: Bool, _ person: Person, keepsOperator: Bool = false, endsIssued: Bool = true,
        by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, isDisabled ? "person.disable" : "person.enable", person.email.text,
            of: Permission.Subject(person.bounds), isDisabled ? ["links_and_keys": endsIssued ? "end" : "stay"] : [:])
        try await store.audited(change) {
            try await store.setDisabled(
                isDisabled, person.key, keepsOperator: keepsOperator, endsIssued: endsIssued)
        }
    }
}

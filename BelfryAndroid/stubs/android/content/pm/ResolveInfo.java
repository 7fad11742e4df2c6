package android.content.pm;

public class ResolveInfo {}

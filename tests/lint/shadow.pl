#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Finds names that hide others in preprocessed C. Reads translation units in the format of "gcc
# -E -dD", each followed by a line "#end". The arguments are the folders whose files are
# checked.
#
# A macro hides another name if both are in the same translation unit. In preprocessed text, the
# name of a macro occurs only where it was something else: an enumerator, a function, a member,
# and so on, that was declared before the macro was defined. So declarations need not be parsed
# for that. (A macro that stands for itself, as in "#define stdin stdin", hides nothing.)
#
# gcc's -Wshadow does not report a variable or parameter that hides a function, unless it is a
# pointer to a function. It reports all other kinds.
use strict;
use warnings;

my @folders = @ARGV;
my %objections;

sub is_ours {	# FILE
	my $file = shift;

	index($file, "$_/build/") < 0 && index($file, "$_/") == 0 and return 1 for @folders;
	return 0;
}

sub short {	# FILE
	my $file = shift;

	1 while $file =~ s{[^/]+/\.\./}{};
	index($file, "$_/") == 0 and return substr($file, 1 + length) for @folders;
	return $file;
}

# ------------------------------------------------------------------ reading

# Names in text of system headers, by text; and the set of all of them.
my (%known, %system_names);

sub names_of {	# TEXT
	my $text = shift;

	return $known{$text} //= do {
		my %names;
		my $bare = $text =~ s/"(?:[^"\\\n]|\\.)*"//gr;

		while ($bare =~ /\b([A-Za-z_]\w*)(\s*\()?/g) {
			$names{$1} |= defined $2 ? 2 : 1;
		}
		$system_names{$_} = 1 for keys %names;
		\%names;
	};
}

# The same for the project's text, by place: tokens with their places; and for each name its
# first place, alone and with an argument list.
my (%read, %own_names);

sub read_text {	# FILE LINE TEXT
	my ($file, $line, $text) = @_;

	return $read{"$file:$line:$text"} //= do {
		my (@tokens, %places);

		for my $row (split /\n/, $text) {
			$row =~ s/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/0/g;
			push @tokens, [$1, $file, $line]
				while $row =~ /([A-Za-z_]\w*|\d[\w.]*|[^\s\w])/g;
			$line++;
		}
		for my $i (0 .. $#tokens) {
			my $token = $tokens[$i];

			next if $token->[0] !~ /^[A-Za-z_]/;
			$places{$token->[0]}[0] //= $token;
			$places{$token->[0]}[1] //= $token if $i < $#tokens && $tokens[$i + 1][0] eq '(';
		}
		$own_names{$_} = 1 for keys %places;
		{ tokens => \@tokens, places => \%places };
	};
}

sub forget_macro {	# UNIT NAME FILE OURS
	my ($unit, $name, $file, $ours) = @_;
	my $macros = $unit->{macros}{$name} // return;

	@$macros = grep { !$ours && $_->[0] ne $file } @$macros;
}

# Reads a translation unit: macros, the project's text, and names in other text.
sub read_unit {	# HANDLE
	my $in = shift;
	my ($file, $line, $start, $ours, $text) = ('', 0, 0, 0, '');
	my %unit = (macros => {}, own => [], others => []);
	my $end_text = sub {
		return if $text eq '';
		push @{$unit{own}}, read_text($file, $start, $text) if $ours;
		push @{$unit{others}}, names_of($text) if !$ours;
		$text = '';
	};

	while (my $row = <$in>) {
		if ($row !~ /^#/) {
			$start = $line if $text eq '';
			$text .= $row;
			$line++;
			next;
		}
		$end_text->();
		return \%unit if $row =~ /^#end$/;
		if ($row =~ /^# (\d+) "([^"]*)"/) {
			($file, $line, $ours) = ($2, $1, is_ours($2));
			next;
		}
		push @{$unit{macros}{$1}}, [$file, $line, $ours, defined $2, $3]
			if $row =~ /^#\s*define\s+(\w+)(\([^)]*\))?\s*(.*)/;
		# From here on the macro stands for itself, as for constants of the C library.
		$unit{macros}{$1} = [] if $row =~ /^#\s*define\s+(\w+)\s+\1\s*$/;
		# A macro that the project, or the file that defined it, undefines is temporary.
		forget_macro(\%unit, $1, $file, $ours) if $row =~ /^#\s*undef\s+(\w+)/;
		$line++;
	}
	return undef;
}

sub object {	# FILE LINE TEXT
	my ($file, $line, $text) = @_;

	$objections{short($file) . ":$line: $text"} = 1;
}

# ------------------------------------------------------------------- macros

sub judge_macro {	# UNIT NAME MACRO
	my ($unit, $name, $macro) = @_;
	my ($file, $line, $ours, $has_arguments, $body) = @$macro;
	my $use = $has_arguments ? 2 : 3;

	return if $body =~ /(?<!\w)\Q$name\E(?!\w)/;
	for my $own (@{$unit->{own}}) {
		my $place = ($own->{places}{$name} // next)->[$has_arguments ? 1 : 0] // next;

		object($ours ? ($file, $line) : @$place[1, 2],
		       "the macro $name (" . short($file) . ":$line) hides the name at " .
		       short($place->[1]) . ":$place->[2]");
		return;
	}
	object($file, $line, "the macro $name hides a name of a system header")
		if $ours && grep { ($_->{$name} // 0) & $use } @{$unit->{others}};
}

# Most macros have a name that occurs in no text.
sub judge_macros {	# UNIT
	my $unit = shift;
	my $macros = $unit->{macros};

	for my $name (keys %$macros) {
		next if !$own_names{$name} && !$system_names{$name};
		for my $macro (@{$macros->{$name}}) {
			judge_macro($unit, $name, $macro) if $macro->[2] || $own_names{$name};
		}
	}
}

# ---------------------------------------------------------------- variables

my %specifier = map { $_ => 1 } qw(const static volatile register extern inline restrict
	signed unsigned char short int long float double _Bool bool void auto _Atomic
	__extension__ __inline __inline__ __restrict __volatile__ __const _Noreturn);
my %statement = map { $_ => 1 } qw(return goto case default break continue if else for while
	do switch sizeof);

# The index after the bracket that closes the one at this index.
sub past {	# TOKENS INDEX
	my ($tokens, $i) = @_;
	my $depth = 0;

	for (; $i < @$tokens; $i++) {
		my $text = $tokens->[$i][0];

		if ($text eq '(' || $text eq '[' || $text eq '{') {
			$depth++;
		} elsif ($text eq ')' || $text eq ']' || $text eq '}') {
			return $i + 1 if --$depth == 0;
		}
	}
	return $i;
}

sub past_attributes {	# TOKENS INDEX
	my ($tokens, $i) = @_;

	$i = past($tokens, $i + 1)
		while $i < $#$tokens && $tokens->[$i][0] =~ /^(__attribute__|__attribute|__asm__|_Alignas)$/;
	return $i;
}

# The index after the declaration specifiers that begin at this index; 0 if there are none.
sub past_specifiers {	# TOKENS INDEX
	my ($tokens, $i) = @_;
	my $has_type = 0;

	for (; $i < $#$tokens; $i++) {
		$i = past_attributes($tokens, $i);
		my $text = $tokens->[$i][0];

		if ($text =~ /^(struct|union|enum)$/) {
			$i = past_attributes($tokens, $i + 1);
			$i++ if $tokens->[$i][0] =~ /^\w/;
			$i = past($tokens, $i) if $tokens->[$i][0] eq '{';
			$i--;
			$has_type = 1;
		} elsif ($text =~ /^(__typeof__|typeof|__typeof|__auto_type)$/) {
			$i = past($tokens, $i + 1) - 1 if $text ne '__auto_type';
			$has_type = 1;
		} elsif ($specifier{$text}) {
			$has_type = 1 if $text !~ /^(const|static|volatile|extern|inline|register)$/;
		} elsif (!$has_type && $text =~ /^[A-Za-z_]/ && !$statement{$text} &&
			 $tokens->[$i + 1][0] =~ /^([A-Za-z_]|\*)/) {
			# The name of a type: an identifier or "*" follows.
			$has_type = 1;
		} else {
			return $has_type ? $i : 0;
		}
	}
	return 0;
}

# The token that a declarator declares, and the index after the declarator.
sub declarator {	# TOKENS INDEX
	my ($tokens, $i) = @_;
	my $name;

	$i++ while $tokens->[$i] && $tokens->[$i][0] =~ /^(\*|const|volatile|restrict|__restrict)$/;
	$i = past_attributes($tokens, $i) if $tokens->[$i];
	if ($tokens->[$i] && $tokens->[$i][0] eq '(') {
		($name) = declarator($tokens, $i + 1);
		$i = past($tokens, $i);
	} elsif ($tokens->[$i] && $tokens->[$i][0] =~ /^[A-Za-z_]/) {
		$name = $tokens->[$i++];
	}
	$i = past($tokens, $i) while $tokens->[$i] && $tokens->[$i][0] =~ /^[(\[]/;
	return ($name, $i);
}

# The names that the declaration at this index declares; none if it is no declaration.
sub declared {	# TOKENS INDEX
	my ($tokens, $start) = @_;
	my $i = past_specifiers($tokens, $start);
	my @names;

	return if !$i;
	while ($i < @$tokens) {
		my $name;

		($name, $i) = declarator($tokens, $i);
		# A product, as in "a * b" at the start of a statement, is no declaration.
		return if !$name || !$tokens->[$i] || $tokens->[$i][0] !~ /^([=,;:)]|__attribute__)$/;
		push @names, $name;
		while ($tokens->[$i] && $tokens->[$i][0] !~ /^[,;)]$/) {
			$i = $tokens->[$i][0] =~ /^[(\[{]$/ ? past($tokens, $i) : $i + 1;
		}
		last if !$tokens->[$i] || $tokens->[$i][0] ne ',';
		$i++;
	}
	return @names;
}

# The parameters in the list that begins at this index.
sub parameters {	# TOKENS INDEX
	my ($tokens, $i) = @_;
	my $end = past($tokens, $i) - 1;
	my @names;

	for ($i++; $i < $end; $i++) {
		my $after = past_specifiers($tokens, $i) || last;
		my $name;

		($name, $i) = declarator($tokens, $after);
		push @names, $name if $name;
		$i = past_attributes($tokens, $i);
	}
	return @names;
}

# The variables that are declared between these brackets.
sub locals {	# TOKENS FIRST LAST
	my ($tokens, $first, $last) = @_;
	my @names;

	for (my $i = $first; $i < $last; $i++) {
		# Members hide nothing.
		if ($tokens->[$i][0] =~ /^(struct|union)$/) {
			my $at = past_attributes($tokens, $i + 1);

			$at++ if $tokens->[$at][0] =~ /^\w/;
			$i = past($tokens, $at) - 1 if $tokens->[$at][0] eq '{';
		}
		next if $tokens->[$i][0] !~ /^[{};(]$/;
		next if $tokens->[$i][0] eq '(' && $tokens->[$i - 1][0] ne 'for';
		push @names, declared($tokens, $i + 1);
	}
	return @names;
}

# The function whose name is at this index: the index of its end, and its variables; undef if it
# has no body. A function with the same tokens is read only once.
my %functions_read;

sub read_function {	# TOKENS INDEX
	my ($tokens, $i) = @_;
	my $name = $tokens->[$i];
	my $known = \$functions_read{"$name->[1]:$name->[2]:$name->[0]"};
	my ($end, $last);

	return [$i + $$known->{length}, $$known->{variables}]
		if $$known && ($tokens->[$i + $$known->{length}] // 0) == $$known->{last};
	$end = past_attributes($tokens, past($tokens, $i + 1));
	return [$end, undef] if !$tokens->[$end] || $tokens->[$end][0] ne '{';
	$last = past($tokens, $end) - 1;
	$$known = {
		length => $last - $i,
		last => $tokens->[$last],
		variables => [parameters($tokens, $i + 1), locals($tokens, $end, $last)],
	};
	return [$last, $$known->{variables}];
}

# The index of the end of a declaration that is no function.
sub end_of_declaration {	# TOKENS INDEX
	my ($tokens, $i) = @_;

	for (; $i < $#$tokens && $tokens->[$i][0] ne ';'; $i++) {
		$i = past($tokens, $i) - 1 if $tokens->[$i][0] =~ /^[(\[{]$/;
	}
	return $i;
}

sub judge_locals {	# UNIT
	my $unit = shift;
	my $tokens = [map { @{$_->{tokens}} } @{$unit->{own}}];
	my %functions;

	for (my $i = 0; $i < $#$tokens; $i++) {
		my $next = past_specifiers($tokens, $i);
		my ($name, $after, $variables);

		if (!$next) {
			$i = past($tokens, $i) - 1 if $tokens->[$i][0] =~ /^[(\[{]$/;
			next;
		}
		$next++ while $tokens->[$next] && $tokens->[$next][0] eq '*';
		($name, $after) = @$tokens[$next, $next + 1];
		if (!$name || !$after || $name->[0] !~ /^[A-Za-z_]/ || $after->[0] ne '(') {
			$i = end_of_declaration($tokens, $next);
			next;
		}
		$functions{$name->[0]} //= $name;
		($i, $variables) = @{read_function($tokens, $next)};
		for my $variable (@{$variables // []}) {
			my $function = $functions{$variable->[0]} or next;

			object(@$variable[1, 2], "the variable $variable->[0] hides the function at " .
			       short($function->[1]) . ":$function->[2]");
		}
	}
}

# --------------------------------------------------------------------- main

while (my $unit = read_unit(*STDIN)) {
	judge_macros($unit);
	judge_locals($unit);
}
print "$_\n" for sort keys %objections;
